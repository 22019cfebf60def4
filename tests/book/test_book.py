"""The book's runner and its sources: nothing stale, nothing hidden, nothing half done."""

import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import types

import pandas as pd
import pytest
from notebooks import NOTEBOOKS, cells_of, notebook

from ldpbook import build, compare_builds, execute, stored
from ldpbook.paper_values import COLUMNS
from ldpbook.paths import ROOT

GRAPH = stored.PACKAGE


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    root = tmp_path / "a{b}c"  # papermill takes a path for a template
    (root / "book" / "scales").mkdir(parents=True)
    (root / "_toc.yml").write_text("root: book/one\nchapters: [{file: book/two}]\n")
    made = execute.Project(root)
    write(made, "one", "print('ran with', trials)")
    write(made, "two", "print(seed)", parameters="seed = 1  # any")
    scale(made, '"*": {trials: 1}')
    return made


def write(project, page, *cells, parameters="trials = 3  # reports, at least 1"):
    project.source(f"book/{page}").write_text(notebook(parameters, *cells))


def scale(project, text):
    (project.root / "book" / "scales" / "smoke.yml").write_text(f"{text}\n")


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
    write(project, "two", "print(seed)", parameters="seed = 2  # any")
    scale(project, "book/one: {trials: 1e0}")  # a whole number with an exponent
    assert execute.run(project.root, scale="smoke", jobs=1) == 0
    out = capsys.readouterr().out
    assert "current   book/one" in out and "executed  book/two" in out
    assert re.search(r"^ +\d+\.\d s +\d+ MB  book/two$", out, flags=re.M)  # where the time went
    assert project.executed("book/two").read_bytes() != before


def test_notebooks_that_run_side_by_side_share_the_cores(project, monkeypatch):
    monkeypatch.setattr("ldpkit.executors.count", lambda workers: 4)
    for page in ("one", "two"):
        write(project, page, "import os\nprint(os.environ['LOKY_MAX_CPU_COUNT'])")
    for jobs, share in [(None, 2), (1, 4), (8, 2)]:
        assert execute.run(project.root, jobs=jobs) == 0
        assert [text(project, f"book/{page}") for page in ("one", "two")] == [f"{share}\n"] * 2
        for page in ("one", "two"):
            execute.forget(project, f"book/{page}")


def test_processes_of_a_page_find_the_modules_beside_it(project):
    """With one notebook at a time a page shares its sweep among processes, which import its helpers."""
    (project.root / "book" / "beside.py").write_text("def squared(x):\n    return x * x\n")
    source = """
import beside, concurrent.futures, multiprocessing
with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
    assert [*pool.map(beside.squared, [2, 3])] == [4, 9]
"""
    write(project, "one", source)
    assert execute.run(project.root, jobs=1) == 0


def test_no_number_of_notebooks_at_a_time_is_made_another(monkeypatch, capsys):
    for tool, given in itertools.product((build.main, build.chapter), ("0", "-1", "two", "1.5")):
        monkeypatch.setattr(sys, "argv", ["tool", "--jobs", given])
        with pytest.raises(SystemExit) as ended:
            tool()
        assert ended.value.code == 2
        assert re.search(rf"'--jobs': '?{given}'? is not", capsys.readouterr().err)


def test_equal_runs_give_equal_bytes(project):
    """In how many pieces a cell prints depends on how busy the machine is."""
    table = "import pandas as pd\npd.DataFrame({'x': [trials, 2]}).style.hide(axis='index')"
    told_apart = "two = object(), object()\nprint(*two, two[0])"
    printed = "import sys\nfor i in range(3):\n    print(i)\n    sys.stdout.flush()\n"
    write(project, "one", table, told_apart, f"{printed}display(3)\nprint(4)")
    found = []
    for _ in range(2):
        execute.run(project.root, scale="smoke", jobs=2)
        found.append(project.executed("book/one").read_bytes())
        execute.forget(project, "book/one")
    assert found[0] == found[1] and b"T_00000_row0_col0" in found[0]
    said = json.loads(found[0])["cells"]
    assert [cell["id"] for cell in said] == ["c0", "injected-parameters", "c1", "c2", "c3"]
    first, second, again = re.findall(r"0x\w+", "".join(said[3]["outputs"][0]["text"]))
    assert first == again != second  # what was told apart still is
    pieces = ["".join(output.get("text", "")) for output in said[4]["outputs"]]
    assert pieces == ["0\n1\n2\n4\n", ""]  # as the page shows them


def test_saved_outputs_do_not_make_a_notebook_stale(project):
    wanted = execute.key(project, "book/one", {}, "shared", GRAPH)
    saved = json.loads(project.source("book/one").read_text())
    saved["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "old"}]
    saved["cells"][1]["metadata"]["execution"] = {"iopub.execute_input": "2026"}
    project.source("book/one").write_text(json.dumps(saved))
    assert execute.key(project, "book/one", {}, "shared", GRAPH) == wanted


def test_results_depend_on_the_environment_but_not_on_what_the_release_found(project):
    held = {"requirements.lock": True, "book/packages/p-1.txt": True}
    for name, counts in (held | dict.fromkeys(execute.EXPECTED.values(), False)).items():
        before = project.digest(*execute.SHARED)
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text("changed")
        assert (project.digest(*execute.SHARED) != before) == counts, name


def test_a_result_depends_on_the_modules_and_helpers_it_imports_and_on_no_others(project):
    package = project.root / "ldpkit"
    package.mkdir()
    needed = {  # and whether page one uses it
        "ldpkit/__init__": ("", True),
        "ldpkit/a": ("x = 1", True),
        "ldpkit/b": ("from .a import x", True),
        "ldpkit/c": ("", False),
        "ldpkit/d": ("", True),
        "book/helper": ("import ldpkit.d as d", True),
        "book/idle": ("", False),
    }
    for name, (source, _) in needed.items():
        (project.root / f"{name}.py").write_text(source)
    write(project, "one", "from ldpkit.b import x\nimport helper")

    def now(page):
        return execute.key(project, page, {}, "shared", stored.Graph(package))

    one, two = now("book/one"), now("book/two")
    for name, (source, stale) in needed.items():
        (project.root / f"{name}.py").write_text(f"{source}\ny = 2")
        assert (now("book/one") != one) == stale and now("book/two") == two, name
        (project.root / f"{name}.py").write_text(source)
    assert now("book/one") == one


def test_long_notebooks_start_first_as_measured_here_or_as_delivered(project, capsys):
    known = project.root / "book" / "ldpbook" / "durations.csv"
    known.parent.mkdir()
    known.write_text("page,seconds\nbook/one,3\nbook/two,90.5\n")
    assert execute.durations(project) == {"book/one": 3.0, "book/two": 90.5}
    assert execute.run(project.root, jobs=1) == 0
    said = re.findall(r"^executed +(\S+)", capsys.readouterr().out, flags=re.M)
    assert said == ["book/two", "book/one"]
    assert max(execute.durations(project).values()) < 90  # now measured
    execute.deliver(project)
    assert set(pd.read_csv(known)["page"]) == {"book/one", "book/two"}
    project.executed("book/two", ".json").unlink()
    known.unlink()
    assert execute.durations(project)["book/two"] == math.inf  # nothing is known: it may be long


def test_of_many_edits_a_build_keeps_the_last_and_nothing_that_was_left_unfinished(project):
    store = project.build / "sweeps"
    store.mkdir(parents=True)
    ages = {f"aaaaaaaa-{age:08}-{cell}.json": age for age in range(6) for cell in "xy"}
    ages |= {"bbbbbbbb-00000000-x.json": 0, "aaaaaaaa-00000000-x.json.1.tmp": 999}
    for name, age in ages.items():
        (store / name).touch()
        os.utime(store / name, (1000 - age, 1000 - age))
    (store / "aaaaaaaa-00000000-x.json.2.tmp").touch()  # of a build that works now
    kept = {name for name, age in ages.items() if age < 4} | {"aaaaaaaa-00000000-x.json.2.tmp"}
    for _ in range(2):
        build.prune(project)
        assert {path.name for path in store.iterdir()} == kept


def test_a_second_build_in_the_same_checkout_is_refused_and_no_folder_is_named(project):
    refused = pytest.raises(SystemExit, match=f"process {os.getpid()}, since ")
    with build.alone(project), refused, build.alone(project):
        raise AssertionError("two builds at once")
    with build.alone(project):  # and is welcome afterwards
        pass
    shutil.rmtree(project.build)
    project.build.write_text("a file where the folder should be")
    with pytest.raises(SystemExit, match="_build.*File exists"), build.alone(project):
        raise AssertionError("built nowhere")


def test_a_site_is_built_again_only_if_it_or_what_it_shows_changed(project, monkeypatch):
    built, site = [], project.build / "html"
    files = ("book/one.html", "searchindex.js", "_images/one.svg", "_static/a.js", "_live/a.json")

    def jupyter_book(command, cwd, **_):
        assert {"--all", "-W", "-n", "--keep-going"} <= set(command) and cwd == project.root
        built.append(1)
        for name in files:
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text("made")
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setattr(build.subprocess, "run", jupyter_book)
    project.build.mkdir()
    for name in ("pyproject.toml", "requirements.lock"):  # what the bill of materials is made from
        shutil.copy(ROOT / name, project.root)
    spoils = [
        lambda: None,
        lambda: (project.root / "book" / "text.md").write_text("new"),
        lambda: (project.build / "site.json").write_text("{tru"),
        lambda: (project.build / "site.json").write_text("[1]"),
        lambda: (project.build / "scoreboard.csv").write_text("new"),
        lambda: (site / "left.html").write_text("of another build"),
        lambda: (site / files[1]).unlink(),
        *(lambda name=name: (site / name).write_text("spoilt") for name in files),
    ]
    for times, change in enumerate(spoils, 1):
        change()
        for _ in range(2):
            assert build.site(project) == 0 and len(built) == times
            assert not (site / "left.html").exists() and (site / "sbom.cdx.json").exists()


def test_a_source_that_is_edited_during_the_build_is_shown_by_the_next_build(project, monkeypatch):
    text, shown = project.root / "book" / "text.md", []

    def jupyter_book(*_, **__):
        shown.append(text.read_text())
        text.write_text("edited while Sphinx ran")
        (project.build / "html").mkdir()
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setattr(build.execute, "jupyter_book", jupyter_book)
    monkeypatch.setattr(build.dependencies, "document", lambda root: {})
    project.build.mkdir()
    text.write_text("as it was")
    assert [build.site(project) for _ in range(3)] == [0, 0, 0]
    assert shown == ["as it was", "edited while Sphinx ran"]


def test_a_site_with_warnings_is_no_site(project, monkeypatch, capsys):
    def jupyter_book(command, stdout, **_):
        print("WARNING: nothing is there", file=stdout, flush=True)
        return types.SimpleNamespace(returncode=1)

    monkeypatch.setattr(build.subprocess, "run", jupyter_book)
    project.build.mkdir()
    assert build.site(project) == 1 and build.site(project) == 1
    assert "WARNING: nothing is there" in capsys.readouterr().err


def test_failing_notebook_is_named_with_its_cell_and_leaves_no_page(project, capfd):
    page = project.html("book/one")
    for cells, said in [
        (["1 + 1", "raise ValueError('k is no integer')"], "cell 2: ValueError: k is no integer"),
        (["1 +"], "cell 1: SyntaxError"),
    ]:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("old")
        write(project, "one", *cells)
        assert execute.run(project.root, jobs=2) == 1
        error = capfd.readouterr().err
        assert f"FAILED    book/one: {said}" in error and "Traceback" not in error
        assert not page.exists() and not project.executed("book/one").exists()
        assert project.executed("book/two").exists()


def test_a_cell_that_never_ends_is_stopped_and_named(project, monkeypatch):
    monkeypatch.setattr(execute, "LIMIT", 2)
    monkeypatch.setattr(os, "environ", os.environ.copy())  # a worker of the build keeps what is set
    write(project, "one", "endless = True\nwhile endless:\n    pass")
    with pytest.raises(Exception) as caught:
        execute.execute(project.root, "book/one", {}, "key")
    said = execute.explain(caught.value)
    assert "'endless = True'" in said and "within 2 s" in said
    assert not project.executed("book/one").exists()


def test_a_damaged_copy_record_or_table_is_noticed_and_made_again(project, capsys):
    boards(project, one="p/fig1,s,1,2,0,2,0,2,reproduced,")
    assert execute.run(project.root, jobs=2) == 0
    copy, record, board = (project.executed("book/one", s) for s in (".ipynb", ".json", ".csv"))
    for path, spoil in [
        (copy, lambda text: text[:-40]),
        (record, lambda text: text.replace('"seconds": ', '"seconds": 9')),  # a page shows it
        (record, lambda text: text.replace('"sha256"', '"sha257"')),
        (record, lambda text: f"[{text}]"),
        (record, lambda text: ""),
        (board, lambda text: text[:-20]),
        (board, lambda text: ""),
        (board, lambda text: None),
    ]:
        whole = {kept: kept.read_bytes() for kept in (copy, board)}
        text = spoil(path.read_text())
        path.unlink() if text is None else path.write_text(text)
        assert execute.run(project.root, jobs=1) == 0
        said = capsys.readouterr().out
        assert "damaged   book/one" in said and "executed  book/one" in said
        assert all(kept.read_bytes() == found for kept, found in whole.items())
        assert execute.record(project, "book/one")["parameters"] == {}


def test_a_scale_that_no_page_can_follow_is_refused(project):
    for given, said in [
        ("book/one: {trails: 1}", "book/one: .*trails.* trials"),
        ("book/one: {trials: 0}", "book/one: trials must be .* got 0"),
        ("book/one: {trials: x}", "book/one: trials must be .* got 'x'"),
        ("book/one: {trials: 1, trials: 2}", "smoke.yml .*trials"),
        ("book/one: {", "smoke.yml"),
    ]:
        scale(project, given)
        with pytest.raises(SystemExit, match=said):
            execute.run(project.root, scale="smoke")
    with pytest.raises(SystemExit, match="SCALE"):
        execute.run(project.root, scale="huge")
    write(project, "two", "print(seed)", parameters="seed = 1")
    with pytest.raises(SystemExit, match="book/two: .*seed = 1"):  # without a word about it
        execute.run(project.root)


def boards(project, **rows):
    """Let notebooks write a table of comparisons with one row each."""
    items = project.root / "data" / "items.csv"
    items.parent.mkdir()
    items.write_text("item,title,page\np/fig1,One,one\np/fig2,Two,two\n")
    for page, row in rows.items():
        text = f"{','.join(COLUMNS)}\n{row},=,closed form,printed number\n"
        written = "import os, pathlib\npathlib.Path(os.environ['LDPKIT_SCOREBOARD']).write_text"
        write(project, page, f"{written}({text!r})", parameters="seed = 1  # any")


def test_unexplained_difference_fails_and_boards_are_merged(project, capsys):
    reproduced, differs = "p/fig1,s,1,2,0,2,0,2,reproduced,", "p/fig2,s,1,2,0,3,0,3,differs,"
    boards(project, one=reproduced, two=differs)
    assert execute.run(project.root, jobs=2) == 1
    assert "DIFFERS   p/fig2" in capsys.readouterr().err
    assert list(pd.read_csv(project.build / "scoreboard.csv")["item"]) == ["p/fig1", "p/fig2"]


def test_a_site_is_damaged_only_if_nothing_it_shows_was_made_again(project, capsys, monkeypatch):
    page, stamp = project.html("book/one"), project.build / "site.json"

    def built(*command, **given):
        raise InterruptedError

    monkeypatch.setattr(build.subprocess, "run", built)
    for damaged in (True, False):
        page.parent.mkdir(parents=True)
        page.write_text("what was built")
        stamp.write_text(json.dumps(build.state(project, project.digest(*build.SHOWN))))
        page.unlink()
        if not damaged:
            write(project, "one", "print(seed)", parameters="seed = 2  # any")
        with pytest.raises(InterruptedError):
            build.site(project)
        assert ("damaged   the site: 1 files were changed" in capsys.readouterr().out) is damaged


def test_missing_empty_unexecuted_and_located_pages_are_reported(project):
    def show(*bodies):
        for page, body in zip(("book/one", "book/two"), bodies):
            project.html(page).parent.mkdir(parents=True, exist_ok=True)
            project.html(page).write_text(f"<article class='x'>{body}</article>")

    assert build.problems(project) == ["book/one was not built", "book/two was not built"]
    words = "word " * 40
    show(words, "two words")
    one, two = (f"book/{name} shows a notebook that was not executed" for name in ("one", "two"))
    assert build.problems(project) == [one, "book/two is empty", two]
    show(f"{words} PosixPath('{project.root}/x')", words)
    assert build.problems(project) == [one, f"book/one names {project.root}", two]


def test_figures_without_a_table_are_reported(project):
    start = "import pandas as pd\nfrom ldpbook import plots\nplots.use()"
    table = "table = pd.DataFrame([('', '', 'exact', 1, 2, None)], columns=plots.COLUMNS)"
    good = f"{table}\nfigure = plots.figure(table, x='k', y='rate')"
    bad = "import matplotlib.pyplot as plt\nfigure = plt.figure()\nfigure.add_subplot()"
    made = json.loads(notebook("seed = 1  # any", start, good, bad))
    for cell, name in zip(made["cells"][2:], ("fig-good", "fig-bad")):
        cell["metadata"]["mystnb"] = {"figure": {"name": name}}
    project.source("book/two").write_text(json.dumps(made))
    assert execute.run(project.root, jobs=1) == 0
    assert build.unsaid(project) == ["book/two: fig-bad has no data"]


def test_the_reference_shows_every_module_for_readers():
    pages = "".join(path.read_text() for path in (ROOT / "book" / "api").glob("*.md"))
    shown = re.findall(r"automodule:: (\S+)", pages)
    inner = {"ldpkit", "ldpkit.__main__", "ldpkit.blackbox"}
    command = re.compile(r"ldpkit\.(cli|blackbox\.(commands|options))\b")
    own = {m for m in GRAPH.modules if m.startswith("ldpkit") and not command.match(m)}
    assert len(shown) == len(set(shown))
    missing = own - inner - set(shown)
    assert not missing, f"add an automodule to a page of book/api for {missing}"


def lacks(page):
    """What the source of a notebook lacks."""
    cells = [cell for cell in cells_of(page) if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    tagged = [s for c, s in zip(cells, sources) if "parameters" in c["metadata"].get("tags", [])]
    prose = ["".join(c["source"]) for c in cells_of(page) if c["cell_type"] == "markdown"]
    unfenced = re.sub(r"^(`{3,}).*?^\1$", "", "\n".join(prose), flags=re.M | re.S)
    if any(cell["outputs"] or cell["execution_count"] is not None for cell in cells):
        yield "is saved with outputs"
    if len(tagged) != 1:
        yield "has no parameter cell, or several"
    for line in "".join(tagged).splitlines():
        if not re.match(r"^\w+ = .+  # \w.{10,}$", line):
            yield f"does not say what {line} means"
    if len(re.findall(r"^# ", unfenced, flags=re.M)) != 1:
        yield "has no title, or several"
    for cell, source in zip(cells, sources):
        if re.search(r"^figure\b.* = ", source, flags=re.M):  # at the margin: not a definition
            meta = cell["metadata"].get("mystnb", {"figure": {}, "image": {}})
            named = meta["figure"].get("name", "").startswith("fig-")
            if not named or not meta["figure"].get("caption") or not meta["image"].get("alt"):
                yield f"has no name, caption or alternative text for {source}"
        if re.search(r"^plots\.show\(.*^\w", source, flags=re.M | re.S):
            yield "has a table that is not shown, because it is not the last line of its cell"
        own = "" if page == "book/own_tests" else "|subprocess"  # that page runs pytest
        if re.search(rf"https?://|urlopen|requests\.|pip install{own}", source):
            yield "fetches or installs"
        if re.search(r"published=\s*\d", source):  # the data folder has the papers' numbers
            yield "types a paper's number"


def test_no_source_notebook_lacks_anything():
    assert [(page, lack) for page in NOTEBOOKS for lack in lacks(page)] == []


def test_a_build_is_held_to_what_the_release_found():
    columns = ["item", "series", "x", "verdict", "reproduced", "reproduced_se"]
    rows = [("a", "drawn", 1, "reproduced", 1.0, 0.01), ("a", "exact", 1, "reproduced", 2.0, None)]
    rows.append(("a", "seconds", 1, "other-data", 3.0, None))
    board = pd.DataFrame(rows, columns=columns).assign(how=["real reports"] * 2 + ["timing"])
    release = compare_builds.stored(board)
    assert release["tolerance"].tolist() == pytest.approx([0.05 * 2**0.5, 2e-6])
    assert not any(map(len, compare_builds.changes(board, release).values()))
    verdicts = ["reproduced", "differs", "other-data"]
    moved = board.assign(reproduced=[1.06, 2.00001, 9.0], verdict=verdicts)
    found = compare_builds.changes(moved, release)
    assert [rows["series"].tolist() for rows in found.values()] == [["exact"], ["exact"], [], []]
    renamed = compare_builds.changes(board.assign(series=["drawn", "new", "seconds"]), release)
    assert [len(rows) for rows in renamed.values()] == [0, 0, 1, 1]


def test_two_builds_are_compared_file_by_file(tmp_path):
    for name in ("one", "two"):  # a.json is the record of a run: it says when
        (tmp_path / name / "executed/book").mkdir(parents=True)
        (tmp_path / name / "html").mkdir()
        for path in ("executed/book/a.ipynb", "executed/book/a.json", f"html/{name}.html"):
            (tmp_path / name / path).write_text(name)
        (tmp_path / name / "scoreboard.csv").write_text("equal")
    common, unequal = compare_builds.differences(tmp_path / "one", tmp_path / "two")
    assert (common, unequal) == (2, ["executed/book/a.ipynb", "html/one.html", "html/two.html"])


def test_only_pages_without_a_seed_and_times_may_differ_between_builds(tmp_path):
    page = tmp_path / "html" / "book" / "ldp_sgd" / "fig7.html"
    page.parent.mkdir(parents=True)
    csv, svg = "_figures/fig-ldp-sgd-7a.csv", "_images/1a2b.svg"
    page.write_text(f'<img src="../../{svg}"><a href="../../{csv}">')
    may = ["executed/book/ldp_sgd/fig7.ipynb", f"html/{csv}", f"html/{svg}", "released.csv"]
    must = "executed/book/ldp_sgd/fig4.ipynb html/_images/3c4d.svg scoreboard.csv html/.buildinfo"
    assert compare_builds.excused((tmp_path,), may + must.split()) == {*may}
    assert {*compare_builds.MEASURED, *compare_builds.SEEDLESS} <= {*NOTEBOOKS}


def test_a_chapter_is_executed_alone_and_as_the_book_would(project, capsys):
    toc = project.root / "_toc.yml"
    toc.write_text(toc.read_text().replace("two", "part/two"))
    (project.root / "book" / "part").mkdir()
    project.source("book/two").rename(project.source("book/part/two"))
    assert build.pages(project, "part") == ["book/part/two"]
    with pytest.raises(SystemExit, match="NAME"):
        build.pages(project, "parts")
    assert execute.run(project.root, chapter="part/") == 0
    assert not project.executed("book/one").exists()
    execute.run(project.root)
    assert "current   book/part/two" in capsys.readouterr().out


def test_a_site_is_dated_by_its_commit_or_by_the_release(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "CITATION.cff").write_text("date-released: 2026-01-02\n")
    assert build.epoch(tmp_path) == "1767312000"
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-03T00:00:00Z")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], [*who, "commit", "-qm", "a", "--allow-empty"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert build.epoch(tmp_path) == "1767398400"
