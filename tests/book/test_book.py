"""The book's runner and its sources: nothing stale, nothing hidden, nothing half done."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import psutil
import pytest
from notebooks import NOTEBOOKS, PROJECT, cells_of, notebook

from ldpbook import build, chapter, check_pages, dependencies, execute, expected, reproduce
from ldpbook.paper_values import COLUMNS
from ldpkit import pools

ROOT = Path(__file__).parents[2]


GRAPH = dependencies.Graph(*PROJECT.packages)
DRAWS = r"^figure\b.* = "  # at the left margin: not a definition


@pytest.fixture
def project(tmp_path):
    (tmp_path / "book" / "scales").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/one\nchapters:\n- file: book/two\n"
    )
    (tmp_path / "book" / "one.ipynb").write_text(
        notebook("trials = 3  # reports, at least 1", "print('ran with', trials)")
    )
    (tmp_path / "book" / "two.ipynb").write_text(notebook("seed = 1  # any", "print(seed)"))
    (tmp_path / "book" / "scales" / "smoke.yml").write_text('"*": {trials: 1}\n')
    return execute.Project(tmp_path)


def text(project, page):
    cells = json.loads(project.executed(page).read_text())["cells"]
    return "".join("".join(output.get("text", "")) for cell in cells for output in cell["outputs"])


def test_runner_executes_once_and_again_only_what_changed(project, capsys):
    assert execute.run(project.root, jobs=2) == 0
    assert text(project, "book/one") == "ran with 3\n"
    before = project.executed("book/two").read_bytes()
    assert execute.run(project.root, scale="smoke", jobs=2) == 0
    assert text(project, "book/one") == "ran with 1\n"
    assert "current   book/two" in capsys.readouterr().out
    project.source("book/two").write_text(notebook("seed = 2  # any", "print(seed)"))
    assert execute.run(project.root, scale="smoke", jobs=1) == 0
    out = capsys.readouterr().out
    assert "current   book/one" in out and "executed  book/two" in out
    assert project.executed("book/two").read_bytes() != before


@pytest.mark.parametrize("jobs, share", [(None, 2), (1, 4), (2, 2), (8, 2)])
def test_notebooks_that_run_side_by_side_share_the_cores(project, monkeypatch, jobs, share):
    monkeypatch.setattr(pools, "count", lambda workers: 4)
    code = "import os\nprint(os.environ['LOKY_MAX_CPU_COUNT'])"
    for page in ("one", "two"):
        project.source(f"book/{page}").write_text(notebook("trials = 3  # at least 1", code))
    assert execute.run(project.root, jobs=jobs) == 0
    assert [text(project, f"book/{page}") for page in ("one", "two")] == [f"{share}\n"] * 2


def test_a_system_without_room_for_semaphores_is_named(project, monkeypatch):
    def refuse(*arguments, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)
    with pytest.raises(SystemExit, match="semaphores lie in /dev/shm.*Permission denied"):
        execute.run(project.root, jobs=2)


@pytest.mark.parametrize("tool", [build, chapter], ids=["build", "chapter"])
@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5"])
def test_no_number_of_notebooks_at_a_time_is_made_another(tool, given, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tool", "--jobs", given])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    assert ended.value.code == 2
    assert f"--jobs: must be an integer >= 1, got {given!r}" in capsys.readouterr().err


def test_equal_runs_give_equal_bytes(project):
    table = "import pandas as pd\npd.DataFrame({'x': [trials, 2]}).style.hide(axis='index')"
    more = "two = object(), object()\nprint(*two, two[0])"
    project.source("book/one").write_text(
        notebook("trials = 3  # reports, at least 1", table, more)
    )
    found = []
    for _ in range(2):
        execute.run(project.root, scale="smoke", jobs=2)
        found.append(project.executed("book/one").read_bytes())
        execute.forget(project, "book/one")
    assert found[0] == found[1] and b"T_00000_row0_col0" in found[0]
    said = json.loads(found[0])["cells"]
    assert [cell["id"] for cell in said] == ["c0", "injected-parameters", "c1", "c2"]
    first, second, again = re.findall(r"0x\w+", "".join(said[3]["outputs"][0]["text"]))
    assert first == again != second  # what was told apart still is


def test_a_temporary_folder_with_a_long_name_is_no_obstacle(project, tmp_path):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    code = (
        "import sys; from ldpbook import execute;"
        f" sys.exit(execute.run({str(project.root)!r}, jobs=1))"
    )
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert text(project, "book/one") == "ran with 3\n"


def test_a_full_disk_leaves_nothing_unfinished(project, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    project.build.mkdir()
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        execute._write(project.build / "scoreboard.csv", b"item\n")
    assert not list(project.build.iterdir())


def test_saved_outputs_do_not_make_a_notebook_stale(project):
    wanted = execute.key(project, "book/one", {}, "shared", GRAPH)
    saved = json.loads(project.source("book/one").read_text())
    saved["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "old"}]
    saved["cells"][1]["metadata"]["execution"] = {"iopub.execute_input": "2026"}
    project.source("book/one").write_text(json.dumps(saved))
    assert execute.key(project, "book/one", {}, "shared", GRAPH) == wanted


@pytest.mark.parametrize(
    "name", ["data/published/x.csv", "requirements.lock", "book/packages/p-1.txt"]
)
def test_results_depend_on_code_data_and_environment(project, name):
    before = project.digest(*execute.SHARED)
    (project.root / name).parent.mkdir(parents=True, exist_ok=True)
    (project.root / name).write_text("changed")
    assert project.digest(*execute.SHARED) != before


def test_a_result_depends_on_the_modules_and_helpers_it_imports_and_on_no_others(project):
    package = project.root / "ldpkit"
    package.mkdir()
    for name, source in {
        "__init__": "",
        "a": "x = 1",
        "b": "from .a import x",
        "c": "",
        "d": "",
    }.items():
        (package / f"{name}.py").write_text(source)
    for name in ("helper", "idle"):
        (project.root / "book" / f"{name}.py").write_text(
            "import ldpkit.d as d" if name == "helper" else ""
        )
    project.source("book/one").write_text(
        notebook("seed = 1  # any", "from ldpkit.b import x\nimport helper")
    )

    def now(page):
        return execute.key(project, page, {}, "shared", dependencies.Graph(package))

    one, two = now("book/one"), now("book/two")
    for path, stale in {
        "ldpkit/a": True,
        "ldpkit/b": True,
        "ldpkit/c": False,
        "ldpkit/d": True,
        "ldpkit/__init__": True,
        "book/helper": True,
        "book/idle": False,
    }.items():
        file = project.root / f"{path}.py"
        before = file.read_text()
        file.write_text(f"{before}\ny = 2")
        assert (now("book/one") != one) == stale, path
        assert now("book/two") == two
        file.write_text(before)
    assert now("book/one") == one


def test_a_notebook_that_is_no_python_is_named_and_the_others_are_executed(project, capfd):
    project.source("book/one").write_text(notebook("trials = 3  # reports, at least 1", "1 +"))
    assert execute.run(project.root, jobs=2) == 1
    assert "FAILED    book/one: cell 1: SyntaxError" in capfd.readouterr().err
    assert project.executed("book/two").exists()


def test_long_notebooks_start_first_as_measured_here_or_as_delivered(project, capsys):
    (project.root / "book" / "ldpbook").mkdir()
    (project.root / "book" / "ldpbook" / "durations.csv").write_text(
        "page,seconds\nbook/one,3\nbook/two,90.5\n"
    )
    assert execute.durations(project) == {"book/one": 3.0, "book/two": 90.5}
    assert execute.run(project.root, jobs=1) == 0
    lines = [
        line.split()[1]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("executed")
    ]
    assert lines == ["book/two", "book/one"]
    assert max(execute.durations(project).values()) < 90  # now measured
    execute.deliver(project)
    delivered = (project.root / "book" / "ldpbook" / "durations.csv").read_text().splitlines()
    assert delivered[0] == "page,seconds" and sorted(
        line.partition(",")[0] for line in delivered[1:]
    ) == ["book/one", "book/two"]
    project.executed("book/two", ".json").unlink()
    (project.root / "book" / "ldpbook" / "durations.csv").unlink()
    assert execute.durations(project)["book/two"] == float(
        "inf"
    )  # nothing is known: it may be long


def test_the_end_of_a_run_says_where_the_time_went(project, capsys):
    execute.run(project.root, jobs=2)
    out = capsys.readouterr().out
    assert re.search(r"^ +\d+\.\d s +\d+ MB  book/(one|two)$", out, flags=re.M)
    assert re.search(
        r"^2 notebooks in \d+\.\d s \(\d+\.\d s one after the other\); largest process \d+ MB$",
        out,
        flags=re.M,
    )


# --- the build as a whole -------------------------------------------------------------------------


def test_of_many_edits_a_build_keeps_the_last_and_nothing_that_was_left_unfinished(project, capsys):
    store = project.build / "sweeps"
    store.mkdir(parents=True)
    for function, sources in (("aaaaaaaa", 6), ("bbbbbbbb", 1)):
        for age in range(sources):
            for cell in "xy":
                path = store / f"{function}-{age:08}-{cell}.json"
                path.touch()
                os.utime(path, (1000 - age, 1000 - age))
    unfinished = [store / f"aaaaaaaa-00000000-x.json.{process}.tmp" for process in (1, 2)]
    for path in unfinished:
        path.touch()
    os.utime(unfinished[0], (1, 1))
    build.prune(project)
    kept = {path.name for path in store.iterdir()}
    last = {f"aaaaaaaa-{age:08}-{cell}.json" for age in range(4) for cell in "xy"}
    assert kept == last | {f"bbbbbbbb-00000000-{c}.json" for c in "xy"} | {unfinished[1].name}
    assert capsys.readouterr().out == (
        "removed   4 finished cells of functions that were edited since\n"
    )
    build.prune(project)
    assert capsys.readouterr().out == "" and {path.name for path in store.iterdir()} == kept


def test_a_second_build_in_the_same_checkout_is_refused(project):
    with (
        build.alone(project),
        pytest.raises(
            SystemExit,
            match=(
                f"Another build works in .* [(]process {os.getpid()}, since .*wait for it, or"
                " stop it"
            ),
        ),
        build.alone(project),
    ):
        raise AssertionError("two builds at once")
    with build.alone(project):  # and is welcome afterwards
        pass


def test_a_build_folder_that_cannot_be_written_is_named(project):
    project.build.write_text("a file where the folder should be")
    with (
        pytest.raises(SystemExit, match="The build folder .*_build cannot be written: File exists"),
        build.alone(project),
    ):
        raise AssertionError("built nowhere")


def test_a_site_is_built_again_only_if_what_it_shows_or_the_site_itself_changed(
    project, monkeypatch, capsys
):
    built = []

    def jupyter_book(command, cwd, **_):
        assert {"--all", "-W", "-n", "--keep-going"} <= set(command) and cwd == project.root
        built.append(1)
        project.html("book/one").parent.mkdir(parents=True, exist_ok=True)
        project.html("book/one").write_text("page")
        for name in ("searchindex.js", "_images/one.svg", "_static/live.js", "_live/one.json"):
            path = project.build / "html" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(name)
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr(build.subprocess, "run", jupyter_book)
    project.build.mkdir()
    for name in ("pyproject.toml", "requirements.lock"):  # what the bill of materials is made from
        shutil.copy(ROOT / name, project.root)
    for change, times in (
        (lambda: None, 1),
        (lambda: None, 1),
        (lambda: (project.root / "book" / "text.md").write_text("new"), 2),
        (lambda: project.html("book/one").write_text("spoilt"), 3),
        (lambda: (project.build / "site.json").write_text("{tru"), 4),
        (lambda: (project.build / "scoreboard.csv").write_text("new"), 5),
        (lambda: None, 5),
        (lambda: (project.build / "html" / "searchindex.js").unlink(), 6),
        (lambda: (project.build / "html" / "_images" / "one.svg").write_text(""), 7),
        (lambda: (project.build / "html" / "_static" / "live.js").unlink(), 8),
        (lambda: (project.build / "html" / "_live" / "one.json").write_text(""), 9),
        (lambda: (project.build / "html" / "left.html").write_text("of another build"), 10),
        (lambda: (project.build / "site.json").write_text("[1]"), 11),
    ):
        change()
        assert build.site(project) == 0 and len(built) == times
        assert not (project.build / "html" / "left.html").exists()
        assert (project.build / "html" / "sbom.cdx.json").exists()
    assert capsys.readouterr().out.count("current   the site") == 2


def test_a_source_that_is_edited_during_the_build_is_shown_by_the_next_build(project, monkeypatch):
    text, shown = project.root / "book" / "text.md", []

    def jupyter_book(*_, **__):
        shown.append(text.read_text())
        text.write_text("edited while Sphinx ran")
        (project.build / "html").mkdir()
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setattr(build.execute, "jupyter_book", jupyter_book)
    monkeypatch.setattr(build.supply, "document", lambda root: {})
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    project.build.mkdir()
    text.write_text("as it was")
    assert [build.site(project) for _ in range(3)] == [0, 0, 0]
    assert shown == ["as it was", "edited while Sphinx ran"]


def test_nobody_builds_on_when_the_build_was_killed_and_who_writes_holds_the_lock(
    project, tmp_path
):
    (tmp_path / "jupyter_book" / "cli").mkdir(parents=True)
    (tmp_path / "jupyter_book" / "__init__.py").touch()
    (tmp_path / "jupyter_book" / "cli" / "__init__.py").touch()
    (tmp_path / "jupyter_book" / "cli" / "main.py").write_text(
        "import sys\ndef main():\n    open('begun', 'w').close()\n    while True:\n        pass\n"
    )
    code = (
        "import sys; from ldpbook import build, execute;"
        f" project = execute.Project({str(project.root)!r})\n"
        "with build.alone(project) as lock:\n    build.site(project, lock)"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "SOURCE_DATE_EPOCH": "0"}
    process = psutil.Popen([sys.executable, "-c", code], env=environment)
    try:
        while not (project.root / "begun").exists():
            assert process.poll() is None
        (book,) = [one for one in process.children() if "-c" in one.cmdline()]
        assert str(project.build / ".lock") in [one.path for one in book.open_files()]
        process.kill()
        assert not psutil.wait_procs([book], timeout=60)[1]
        with build.alone(project):
            pass
    finally:
        process.kill()


def test_a_site_with_warnings_is_no_site(project, monkeypatch, capsys):
    def jupyter_book(command, stdout, **_):
        stdout.write("WARNING: nothing is there\n")
        stdout.flush()
        return types.SimpleNamespace(returncode=1)

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr(build.subprocess, "run", jupyter_book)
    project.build.mkdir()
    assert build.site(project) == 1 and build.site(project) == 1
    assert "WARNING: nothing is there" in capsys.readouterr().err


def test_failing_notebook_is_named_with_its_cell_and_leaves_no_page(project, capfd):
    execute.run(project.root, jobs=2)
    page = project.html("book/one")
    page.parent.mkdir(parents=True)
    page.write_text("old")
    project.source("book/one").write_text(
        notebook(
            "trials = 3  # reports, at least 1", "1 + 1", "raise ValueError('k must be an integer')"
        )
    )
    assert execute.run(project.root, jobs=2) == 1
    error = capfd.readouterr().err
    assert (
        "FAILED    book/one: cell 2: ValueError: k must be an integer" in error
        and "Traceback" not in error
    )
    assert not page.exists() and not project.executed("book/one").exists()
    assert project.executed("book/two").exists()


def test_a_cell_that_never_ends_is_stopped_and_named(project, monkeypatch):
    monkeypatch.setattr(execute, "LIMIT", 2)
    monkeypatch.setattr(os, "environ", os.environ.copy())  # a worker of the build keeps what is set
    project.source("book/one").write_text(
        notebook("trials = 3  # reports, at least 1", "endless = True\nwhile endless:\n    pass")
    )
    with pytest.raises(Exception) as caught:
        execute.execute(project.root, "book/one", {}, "key")
    assert execute.explain(caught.value) == (
        "the cell that begins with 'endless = True' was not finished within 2 s"
    )
    assert not project.executed("book/one").exists()


def test_damaged_executed_copy_is_noticed_and_made_again(project, capsys):
    execute.run(project.root, jobs=2)
    whole = project.executed("book/one").read_bytes()
    project.executed("book/one").write_bytes(whole[:-40])
    assert execute.run(project.root, jobs=2) == 0
    assert "damaged   book/one" in capsys.readouterr().out
    assert project.executed("book/one").read_bytes() == whole


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda text: text.replace('"seconds": ', '"seconds": 9'),  # which a page would show
        lambda text: text.replace('"sha256"', '"sha257"'),
        lambda text: f"[{text}]",
        lambda text: "",
    ],
)
def test_a_damaged_record_is_noticed_and_the_page_made_again(project, capsys, spoilt):
    execute.run(project.root, jobs=2)
    record = project.executed("book/one", ".json")
    record.write_text(spoilt(record.read_text()))
    assert execute.run(project.root, jobs=1) == 0
    said = capsys.readouterr().out
    assert "damaged   book/one: what is known" in said and "executed  book/one" in said
    assert execute.record(project, "book/one")["parameters"] == {}


@pytest.mark.parametrize("scale, said", [
    ("book/one: {trails: 1}", "book/one: there is no parameter trails; its parameters are trials"),
    ("book/one: {trials: 0}", "book/one: trials must be an integer of at least 1, got 0"),
    ("book/one: {trials: x}", "book/one: trials must be an integer of at least 1, got 'x'"),
    ("book/one: {trials: 1, trials: 2}", "smoke.yml cannot be read: key 'trials' is given twice"),
    ("book/one: {", "smoke.yml cannot be read"),
])  # fmt: skip
def test_a_scale_that_no_page_can_follow_is_refused(project, scale, said):
    (project.root / "book" / "scales" / "smoke.yml").write_text(scale + "\n")
    with pytest.raises(SystemExit, match=said):
        execute.run(project.root, scale="smoke")


def test_a_parameter_without_a_word_about_it_is_refused(project):
    project.source("book/two").write_text(notebook("seed = 1", "print(seed)"))
    with pytest.raises(SystemExit, match="book/two: not a parameter line: 'seed = 1'"):
        execute.run(project.root)


def test_an_unknown_scale_is_refused(project):
    with pytest.raises(SystemExit, match="SCALE must be one of paper, smoke, got 'huge'"):
        execute.run(project.root, scale="huge")


def test_a_scale_may_write_a_whole_number_with_an_exponent(project):
    (project.root / "book" / "scales" / "smoke.yml").write_text("book/one: {trials: 1e1}\n")
    assert execute.run(project.root, scale="smoke") == 0
    assert "ran with 10\n" in text(project, "book/one")


WORDS = "=,closed form,printed number"


def boards(project, **rows):
    """Let notebooks write a table of comparisons with one row each."""
    header = ",".join(COLUMNS) + "\n"
    (project.root / "data").mkdir()
    (project.root / "data" / "items.csv").write_text(
        "item,title,page\np/fig1,One,one\np/fig2,Two,two\n"
    )
    for page, row in rows.items():
        write = (
            "import os\nwith open(os.environ['LDPKIT_SCOREBOARD'], 'w') as file:\n   "
            f" file.write({header + row!r})"
        )
        project.source(f"book/{page}").write_text(notebook("seed = 1  # any", write))


def test_unexplained_difference_fails_and_boards_are_merged(project, capsys):
    boards(
        project,
        one=f"p/fig1,s,1,2,0,2,0,2,reproduced,,{WORDS}\n",
        two=f"p/fig2,s,1,2,0,3,0,3,differs,,{WORDS}\n",
    )
    assert execute.run(project.root, jobs=2) == 1
    assert "DIFFERS   p/fig2" in capsys.readouterr().err
    assert list(pd.read_csv(project.build / "scoreboard.csv")["item"]) == ["p/fig1", "p/fig2"]
    figures = pd.read_csv(project.build / "figures.csv").set_index("item")["state"]
    assert figures.to_dict() == {"p/fig1": "reproduced", "p/fig2": "differs, unexplained"}


def test_a_site_is_called_damaged_only_if_nothing_it_shows_was_made_again(
    project, capsys, monkeypatch
):
    page, stamp = project.html("book/one"), project.build / "site.json"

    def built(*command, **given):
        raise InterruptedError

    monkeypatch.setattr(build.subprocess, "run", built)
    for source, damaged in (("", True), (notebook("seed = 2  # any", "print(seed)"), False)):
        page.parent.mkdir(parents=True)
        page.write_text("what was built")
        stamp.write_text(json.dumps(build.state(project, project.digest(*build.SHOWN))))
        page.unlink()
        if source:
            project.source("book/one").write_text(source)
        with pytest.raises(InterruptedError):
            build.site(project)
        assert ("damaged   the site: 1 files were changed" in capsys.readouterr().out) is damaged


def test_a_damaged_table_of_comparisons_is_noticed_and_made_again(project, capsys):
    boards(project, one=f"p/fig1,s,1,2,0,2,0,2,reproduced,,{WORDS}\n")
    assert execute.run(project.root, jobs=2) == 0
    board = project.executed("book/one", ".csv")
    whole = board.read_bytes()
    for spoilt in (whole[:-20], b"", None):
        board.write_bytes(spoilt) if spoilt is not None else board.unlink()
        assert execute.run(project.root, jobs=1) == 0
        assert "damaged   book/one" in capsys.readouterr().out and board.read_bytes() == whole


def test_missing_empty_and_unexecuted_pages_are_reported(project):
    assert check_pages.problems(project) == ["book/one was not built", "book/two was not built"]
    for page, body in (("book/one", "word " * 40), ("book/two", "two words")):
        project.html(page).parent.mkdir(parents=True, exist_ok=True)
        project.html(page).write_text(f"<article class='x'>{body}</article>")
    assert check_pages.problems(project) == [
        "book/one shows a notebook that was not executed",
        "book/two is empty",
    ]


def test_a_page_that_names_the_folder_of_its_build_is_reported(project):
    for page, body in (
        ("book/one", f"PosixPath('{project.root}/x')"),
        ("book/two", "released.csv"),
    ):
        project.html(page).parent.mkdir(parents=True, exist_ok=True)
        project.html(page).write_text(f"<article>{body}</article>")
    assert check_pages.located(project) == [f"book/one names {project.root}"]


def test_figures_without_a_table_are_reported(project):
    good = (
        "figure = plots.figure(pd.DataFrame([('', '', 'exact', 1, 2, None)],"
        " columns=plots.COLUMNS), x='k', y='rate')"
    )
    made = json.loads(
        notebook(
            "seed = 1  # any",
            "import pandas as pd\nfrom ldpbook import plots\nplots.use()",
            good,
            "import matplotlib.pyplot as plt\nfigure = plt.figure()\nfigure.add_subplot()",
        )
    )
    for cell, name in zip(made["cells"][2:], ("fig-good", "fig-bad")):
        cell["metadata"]["mystnb"] = {"figure": {"name": name}}
    project.source("book/two").write_text(json.dumps(made))
    assert execute.run(project.root, jobs=1) == 0
    assert check_pages.unsaid(project) == ["book/two: fig-bad has no data"]


def code_of(page):
    return [cell for cell in cells_of(page) if cell["cell_type"] == "code"]


def test_the_reference_shows_every_module_for_readers():
    pages = "".join(path.read_text() for path in (ROOT / "book" / "api").glob("*.md"))
    shown = re.findall(r"automodule:: (\S+)", pages)
    inner = {"ldpkit", "ldpkit.__main__", "ldpkit.mechanisms.ziggurat"}
    own = {m for m in GRAPH.modules if m.startswith("ldpkit") and not m.startswith("ldpkit.cli")}
    assert len(shown) == len(set(shown)) and own - inner <= set(shown)


def test_every_page_of_the_contents_has_a_source():
    for page in PROJECT.pages():
        assert PROJECT.source(page).exists() or (ROOT / f"{page}.md").exists(), page


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_source_notebooks_carry_no_outputs(page):
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code_of(page))


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_parameter_says_what_it_means(page):
    tagged = [cell for cell in code_of(page) if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1
    for line in "".join(tagged[0]["source"]).splitlines():
        assert re.match(r"^\w+ = .+  # \w.{10,}$", line), line


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_notebooks_are_short_titled_and_end_with_something_to_try_and_exercises(page):
    trees = [ast.parse("".join(cell["source"])) for cell in code_of(page)]
    prose = ["".join(cell["source"]) for cell in cells_of(page) if cell["cell_type"] == "markdown"]
    assert sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree)) <= 75
    unfenced = re.sub(r"^(`{3,}).*?^\1$", "", "\n".join(prose), flags=re.M | re.S)
    assert sum(line.startswith("# ") for line in unfenced.splitlines()) == 1
    assert "## Try it" in prose[-2] and prose[-2].count("\n1. ") + prose[-2].count("\n2. ") == 2
    assert (
        cells_of(page)[-1]["source"][0] == "## Exercises\n"
    )  # tests/test_exercises.py says what follows


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_figure_has_name_caption_and_alt_text(page):
    drawing = [c for c in code_of(page) if re.search(DRAWS, "".join(c["source"]), flags=re.M)]
    for cell in drawing:
        meta = cell["metadata"].get("mystnb", {})
        assert meta["figure"]["name"].startswith("fig-") and len(meta["figure"]["caption"]) > 30
        assert len(meta["image"]["alt"]) > 30


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_notebooks_fetch_nothing_and_install_nothing(page):
    source = "\n".join("".join(cell["source"]) for cell in code_of(page))
    assert not re.search(r"https?://|urlopen|requests\.|pip install|subprocess", source)


def test_numbers_of_papers_enter_through_the_data_folder_only():
    for page in NOTEBOOKS:
        for cell in code_of(page):
            assert not re.search(r"published=\s*\d", "".join(cell["source"])), page


def test_a_build_is_held_to_what_the_release_found():
    columns = ["item", "series", "x", "verdict", "reproduced", "reproduced_se"]
    rows = [("a", "drawn", 1, "reproduced", 1.0, 0.01), ("a", "exact", 1, "reproduced", 2.0, None)]
    rows.append(("a", "seconds", 1, "other-data", 3.0, None))
    board = pd.DataFrame(rows, columns=columns).assign(how=["real reports"] * 2 + ["timing"])
    release = expected.stored(board)
    assert release["tolerance"].tolist() == pytest.approx([0.05 * 2**0.5, 2e-6])
    assert not any(map(len, expected.differences(board, release).values()))
    moved = board.assign(
        reproduced=[1.06, 2.00001, 9.0], verdict=["reproduced", "differs", "other-data"]
    )
    found = expected.differences(moved, release)
    assert [rows["series"].tolist() for rows in found.values()] == [["exact"], ["exact"], [], []]
    renamed = expected.differences(board.assign(series=["drawn", "new", "seconds"]), release)
    assert [len(rows) for rows in renamed.values()] == [0, 0, 1, 1]


def test_no_page_depends_on_what_the_release_found(project):
    (project.root / "data").mkdir()
    before = project.digest(*execute.SHARED)
    for name in execute.EXPECTED.values():
        (project.root / name).write_text("found")
    assert project.digest(*execute.SHARED) == before
    (project.root / "data" / "printed.csv").write_text("1")
    assert project.digest(*execute.SHARED) != before


def test_two_builds_are_compared_file_by_file(tmp_path):
    for name in ("one", "two"):
        for path, text in (
            ("scoreboard.csv", "equal"),
            ("executed/book/a.ipynb", name),
            (f"html/{name}.html", "alone"),
            ("executed/book/a.json", name),  # the record of a run: it says when
        ):
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
    common, unequal = reproduce.differences(tmp_path / "one", tmp_path / "two")
    assert (common, unequal) == (2, ["executed/book/a.ipynb", "html/one.html", "html/two.html"])


def test_what_a_cell_prints_in_pieces_is_one_output(project):
    """How many pieces there are depends on how busy the machine is."""
    printed = (
        "import sys\nfor i in range(3):\n    print(i)\n    sys.stdout.flush()\ndisplay(3)\nprint(4)"
    )
    project.source("book/one").write_text(notebook("trials = 3  # reports, at least 1", printed))
    assert execute.run(project.root, jobs=1) == 0
    cells = json.loads(project.executed("book/one").read_text())["cells"]
    (outputs,) = [cell["outputs"] for cell in cells if cell["outputs"]]
    assert [output.get("text") for output in outputs] == ["0\n1\n2\n", None, "4\n"]


def test_only_pages_without_a_seed_and_times_may_differ_between_builds(tmp_path):
    page = tmp_path / "html" / "book" / "ldp_sgd" / "fig7.html"
    page.parent.mkdir(parents=True)
    page.write_text(
        '<img src="../../_images/1a2b.svg"><a href="../../_figures/fig-ldp-sgd-7a.csv">'
    )
    may = [
        "executed/book/ldp_sgd/fig7.ipynb",
        "html/_figures/fig-ldp-sgd-7a.csv",
        "html/_images/1a2b.svg",
        "released.csv",
    ]
    must = [
        "executed/book/ldp_sgd/fig4.ipynb",
        "html/_images/3c4d.svg",
        "scoreboard.csv",
        "html/.buildinfo",
    ]
    assert reproduce.excused((tmp_path,), may + must) == {*may}
    known = execute.Project(ROOT).notebooks()
    assert {*reproduce.MEASURED, *reproduce.SEEDLESS} <= {*known}


def test_a_chapter_is_executed_alone_and_as_the_book_would(project, capsys):
    (project.root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/one\nchapters:\n- file: book/part/two\n"
    )
    (project.root / "book" / "part").mkdir()
    project.source("book/two").rename(project.source("book/part/two"))
    assert chapter.pages(project, "part") == ["book/part/two"]
    with pytest.raises(SystemExit, match="NAME must be one of part, got 'parts'"):
        chapter.pages(project, "parts")
    assert execute.run(project.root, chapter="part/") == 0
    assert not project.executed("book/one").exists()
    execute.run(project.root)
    assert "current   book/part/two" in capsys.readouterr().out


def test_a_site_is_dated_by_its_commit_or_by_the_release(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "CITATION.cff").write_text("date-released: 2026-01-02\n")
    assert build.epoch(tmp_path) == "1767312000"
    dated = os.environ | {"GIT_COMMITTER_DATE": "2026-01-03T00:00:00Z"}
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a", "--allow-empty"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, env=dated, check=True)
    assert build.epoch(tmp_path) == "1767398400"
