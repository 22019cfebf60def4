"""What a reader may change, and how: parameters read from their cell, one page run alone, the
record under each page."""

import json
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from ldpbook import build, execute, parameters, provenance

ROOT = Path(__file__).parents[2]

PROJECT = execute.Project(ROOT)


def test_every_parameter_of_the_book_allows_its_own_value_and_all_that_its_control_offers():
    wrong = []
    for name in PROJECT.notebooks():
        for p in parameters.of(json.loads(PROJECT.source(name).read_text())).values():
            own, told = parameters.evaluate(p.literal), p.control()
            stops = [parameters.evaluate(stop) for stop in told["stops"]]
            good = p.problem(own) is None and p.meaning and p.expects()
            good = good and (not p.paper or "paper" in p.paper)
            # the comment has to state the range
            good = good and (p.kind not in ("integer", "number") or p.low is not None)
            good = good and not [v for v in stops if p.problem([v] if p.many else v)]
            if told["control"] == "slider":
                good = good and stops == sorted(set(stops)) and 2 <= len(stops) <= 100
            if told["control"] in ("slider", "choice"):
                good = good and {p.literal, told["mark"]} <= set(told["stops"])
                good = good and (told["by"] == "book" or p.paper)
            if told["control"] == "chips":
                good = good and set(own) <= set(stops)
            wrong += [] if good else [(name, p.name)]
    assert wrong == []


made = parameters.parse


def test_a_line_is_read_into_value_meaning_range_and_paper():
    p = made("trials = 1_000_000  # reports per input, at least 1 (the paper: 1,000,000)")
    assert (p.name, p.literal, p.kind, p.low, p.high) == ("trials", "1_000_000", "integer", 1, None)
    assert (p.meaning, p.paper) == ("reports per input, at least 1", "the paper: 1,000,000")
    p = made("k = [25, 50]  # domain sizes, at least 2 (the paper: these)")
    assert p.many and p.paper == "the paper: [25, 50]"
    p = made('grid = "published"  # where to look: "published" (100 rates) or None (ours)')
    assert p.none and p.kind == "text" and p.paper == ""
    p = made("delta = [0, 1e-7]  # allowed failures, in [0, 1) (the paper: these)")
    assert (p.low, p.high, p.low_open, p.high_open) == (0, 1, False, True)
    p = made("faithful = False  # every report in full: the same law, some minutes more (try it)")
    assert p.cost == "some minutes more" and p.specification()["cost"] == p.cost
    p = made("whole = [4, 8]  # points, at least 2 (the paper: 4, 8; 16 takes minutes)")
    assert p.cost == "16 takes minutes"
    p = made("epsilon = 4  # budget, in [1e-6, 14]")
    assert (p.cost, p.kind) == ("", "number")  # the range says that it need not be whole
    p = made("n = 5_000  # reports, in [1_000, 10_000_000]")
    assert (p.low, p.high, p.kind) == (1_000, 10**7, "integer")


def test_a_range_that_is_not_understood_is_an_error():
    for said in ("in [1000; 10]", "at least 10k", "one of 1,2,3", "in [1, 1,000k]", "in (low, 5)"):
        with pytest.raises(ValueError, match=f"n must have a range .* got '{re.escape(said)}"):
            made(f"n = 5  # reports, {said}")


JUDGED = [
    ("trials = 5  # reports, at least 1", [1, 10**9], [0, -1, 2.0, True, "5", None, [5], float("inf")]),
    ("alpha = 0.01  # significance, in (0, 1)", [0.5, 1e-9], [0, 1, 1.5, "x", float("nan"), [0.1]]),
    ("k = [2, 3]  # sizes, at least 2", [[2], [5, 6]], [[], 2, (5, 6), [1], [2.5], ["a"], [True], [[2]]]),
    ("epsilon = [0.5, 1]  # budgets, in [1e-6, 22]", [[1], [0.1, 22]], [[0], [23], 1]),
    ("grid = 'a'  # name, or None for ours", ["b", None], [1, ["b"]]),
    ("faithful = False  # every report in full", [True], [1, 0, "True", None]),
    ("norm = 0.5  # length, above 0", [1e-9, 7], [0, -1]),
    ("trials = 4  # trials, even, at least 2", [2, 10**6], [0, 3, -2]),
    ("runs = 400  # runs, a multiple of 40", [40, 80], [0, 20, 41]),
    ("users = 100  # users, in [1, 10^12]", [1, 10**12], [0, 10**12 + 1, 1.5]),
    ("images = None  # path of a file", [None, "x.npz", 3], []),
    ("cells = [[1, 2], [3, 4]]  # budget and clients", [[[5, 6]]], [5, [5], "x"]),
    ("k = 100  # domain, one of 25, 100, 200", [25, 200], [26, 50, 201, "25", 25.5]),
    ('rule = "a"  # how, or "b", "c c" (the paper: a)', ["a", "c c"], ["d", "paper", 1, None]),
    ('rule = "a"  # "a" or None for ours', ["a", None], ["b"]),
    ('names = ["a", "b"]  # some of "a", "b", "c"', [["c"], ["a", "c"]], [["d"], [], "a"]),
    ("ends = [4, 24]  # a pair: bits and buckets, at least 2", [[2, 2]], [[4], [2, 3, 4], [1, 2], 4]),
    ("filter = None  # of rare outputs, at least 0 (6 there)", [None, 0, 2.5], [-1, "x", [1]]),
]  # fmt: skip


def test_values_are_judged_by_type_and_range():
    wrong = []
    for line, good, bad in JUDGED:
        p = made(line)
        wrong += [(line, v) for v in good if p.problem(v)]
        said = f"{p.name} must be {p.expects()}, got "
        wrong += [(line, v) for v in bad if not (p.problem(v) or "").startswith(said)]
    assert wrong == []


CONTROLS = [
    ("k = 4  # size, in [2, 6] (the paper: 5)", "slider", "2 3 4 5 6", "5", "paper"),
    ("k = 4  # size, in [2, 6] (the paper does not say)", "slider", "2 3 4 5 6", "4", "book"),
    ("k = 4  # size, in [2, 6] (the paper: 8)", "slider", "2 3 4 5 6", "4", "book"),
    ("b = 4  # points, even, in [2, 8]", "slider", "2 4 6 8", "4", "book"),
    ("alpha = 0.2  # level, in (0, 1) (the paper: 0.2)", "slider", None, "0.2", "paper"),
    ("n = 1_000  # users, in [1, 10^12] (the paper: 10^4)", "slider", None, "10_000", "paper"),
    ("k = 100  # domain, one of 25, 100", "choice", "25 100", "100", "book"),
    ('r = "a"  # rule, or "b" (the paper: a)', "choice", '"a" "b"', '"a"', "paper"),
    ('grid = "a"  # "a" or None for ours', "choice", '"a" None', '"a"', "book"),
    ("faithful = False  # every report in full", "flag", "", None, None),
    ("d = [1e-4, 1_000, 2.0]  # sizes, above 0", "text", "", None, None),  # in no order
    ("d = [1e-4, 2.0, 1_000]  # sizes, above 0", "chips", "1e-4 2.0 1_000", None, None),
    ("k = [4, 3]  # keys, in [2, 4]", "chips", "4 3", None, None),
    ('s = ["a"]  # some of "a", "b"', "chips", '"a" "b"', None, None),
    ("seed = 1  # non-negative integer", "text", "", None, None),
    ("side = [0, 0, 1]  # labels, at least 0", "text", "", None, None),
    ("both = [4, 24]  # a pair: bits and buckets, at least 2", "text", "", None, None),
    ("e = [i / 2 for i in range(9)]  # budgets, in [0, 4]", "text", "", None, None),
    ("cells = [[1, 2]]  # budget and clients", "text", "", None, None),
    ("images = None  # path of a file", "text", "", None, None),
    ("filter = None  # of rare outputs, at least 0", "text", "", None, None),
]


def test_a_control_follows_from_the_line():
    wrong = []
    for line, control, stops, mark, by in CONTROLS:
        told = made(line).specification()
        found = (told["control"], told.get("mark"), told.get("by"))
        if found != (control, mark, by) or stops not in (None, " ".join(told["stops"])):
            wrong.append((line, told))
    assert wrong == []
    # a slider over powers of ten is fine near the value and reaches the ends
    stops = made("epsilon = 2.0  # budget, in [1e-6, 22] (the paper: 2)").control()["stops"]
    assert stops[:3] == ["1e-6", "0.002", "0.003"] and stops[-2:] == ["20", "22"]
    assert "2.0" in stops and "2" not in stops  # as the notebook has it
    assert made("t = 1_000_000  # reports, at least 1").control()["stops"][-1] == "10_000_000"


def test_a_line_of_changes_is_split_into_names_and_values():
    assert parameters.read("k=[2, 10] trials=100_000  grid='a b' f = 1.5") == {
        "k": [2, 10], "trials": 100_000, "grid": "a b", "f": 1.5}  # fmt: skip
    assert parameters.read("") == {}
    whole = parameters.read("trials=1e6 k=[1E2, -2e0] t=(3.e1, {'a': 1e15})")
    assert repr(whole) == repr({"trials": 10**6, "k": [100, -2], "t": (30, {"a": 10**15})})
    left = "{'a': 1.5, 'b': 0.001, 'c': 2.0, 'd': 1e+16, 'e': '1e6'}"
    assert repr(parameters.read("a=1.5e0 b=1e-3 c=2.0 d=1e16 e='1e6'")) == left
    for text in ("k", "k=open('x')", "k=", "k=[1", "k=1 b=2 k=3"):
        with pytest.raises(ValueError, match="k"):
            parameters.read(text)


def test_a_wrong_notebook_name_or_value_is_refused_with_the_valid_ones():
    for arguments, said in [
        (["ldp_auditor/fgi2"], ["ldp_auditor/fig2", "background/statistics"]),
        (["ldp_auditor/fig2", "trails=3"], ["trails", "trials = 1_000_000  # an integer of at"]),
        (["ldp_auditor/fig2", "k=2 alpha=0"], ["k must be", "got 2", "alpha must be", "got 0"]),
        (
            ["ldp_auditor/fig2", "k=(2,10)"],
            ["k must be a list of integers of at least 2, got (2, 10)"],
        ),
        (["book/ldp_auditor/fig2.ipynb", "k"], ["got 'k'", "epsilon = [0.25"]),
    ]:
        with pytest.raises(SystemExit) as ended:
            build.page(arguments)
        assert [words for words in said if words not in ended.value.code] == []


def test_what_is_said_to_make_reaches_the_page_as_it_was_written(tmp_path):
    nb, params, quoted = (tmp_path / name for name in ("nb", "params", "quoted"))
    said = [f"NB=$(shell touch {nb})", f"PARAMS=k=$(shell touch {params}) 'it' `touch {quoted}`"]
    make = ["make", "-s", "-o", ".venv/ready", "-o", "packages", "page"]
    make.append(f"BIN={Path(sys.executable).parent}")
    for given, words in [
        (said, said[0][3:]),
        (["NB=rad/fig1", said[1]], repr(said[1][9:])),
        (["NB=rad/fig1", "SCALE=huge"], "'huge'"),
    ]:
        done = subprocess.run([*make, *given], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


def test_variants_of_a_page_lie_side_by_side_in_folders_that_say_what_they_are():
    values = [{"k": [2, 10], "trials": 5}, {"k": [2], "trials": 5}, {"k": "2"}, {"k": 2}]
    values += [{}, {"k": list(range(99))}, {"k": list(range(98))}]
    folders = [build.folder("book/rad/fig1", "paper", v) for v in values]
    folders.append(build.folder("book/rad/fig1", "smoke", {}))
    assert len(set(folders)) == len(folders)
    assert folders[0].startswith("_build/page/rad-fig1/k-2-10-trials-5-")
    assert folders[0] == build.folder("book/rad/fig1", "paper", {"trials": 5, "k": [2, 10]})
    assert all(re.fullmatch(r"[\w/.-]{1,100}", name) for name in folders)


def test_a_variant_is_built_apart_says_what_it_is_and_survives_later_runs(monkeypatch):
    name, place = "background/mechanisms", ROOT / "_build" / "page" / "background-mechanisms"
    shutil.rmtree(place, ignore_errors=True)
    paths = [PROJECT.executed(f"book/{name}", suffix) for suffix in (".ipynb", ".json")]
    kept = {path: path.read_bytes() for path in paths if path.exists()}
    command = [sys.executable, "-m", "ldpbook", "page", "--scale", "smoke", name, "epsilon=3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    address = urllib.parse.urlsplit(re.search(r"file://\S+", done.stdout).group())
    html = Path(urllib.request.url2pathname(address.path))
    assert html.is_relative_to(place)
    assert (html.parents[2] / "_executed" / "book" / f"{name}.ipynb").exists()
    head = re.search(r'<aside class="variant".*?</aside>', html.read_text(), flags=re.S).group()
    assert "epsilon = 3" in head
    beside = re.findall(r'<figure class="book-figure">.*?src="([^"]+)"', html.read_text())
    drawn = {path.name for path in (html.parents[2] / "_figures").glob("*.svg")}
    known = {path.name for path in (PROJECT.build / "html" / "_figures").glob("*.svg")}
    assert drawn and len(beside) == len(drawn & known)
    assert all((html.parent / source).exists() for source in beside)
    assert all(path.read_bytes() == text for path, text in kept.items())

    before = html.read_bytes()
    monkeypatch.setattr(execute, "execute", lambda *_: 1 / 0)
    for epsilon in (3, 4):
        with pytest.raises(SystemExit, match="ZeroDivisionError"):
            build.make(ROOT, f"book/{name}", "smoke", {"epsilon": epsilon})
    assert html.read_bytes() == before and len(list(place.iterdir())) == 1
    shutil.rmtree(place)


def test_the_functions_behind_a_cell_are_found_by_their_full_names():
    sources = [
        "from ldpbook import plots\nfrom ldpkit.grid import grid\nimport numpy as np",
        "table = grid(np.sum, {})",
        "plots.use(); figure = plots.figure(table); plots.COLOURS[0]; figure.axes[0].plot([1])",
    ]
    cells = [{"cell_type": "code", "metadata": {}, "source": s} for s in sources]
    used = provenance.functions({"cells": cells})
    assert used[1] == ["ldpkit.grid.grid"]
    assert used[2] == ["ldpbook.plots.use", "ldpbook.plots.figure"]


def test_the_live_page_knows_hidden_cells_and_what_the_book_was_built_with():
    said = [
        ("code", ["parameters"], "trials = 5  # reports, at least 1"),
        ("code", ["injected-parameters"], "# Parameters\ntrials = 3\n"),
        ("markdown", [], ""),
        ("code", ["remove-cell"], "x = trials"),
    ]
    cells = [{"cell_type": k, "metadata": {"tags": tags}, "source": s} for k, tags, s in said]
    data = provenance.live_data(PROJECT, "book/a/b", {"cells": cells})
    assert [c["index"] for c in data["cells"]] == [0, 3] and data["cells"][0]["parameters"]
    assert (data["folder"], data["notebook"]) == ("book/a", "book/a/b.ipynb")
    assert data["parameters"][0]["built"] == "3" and data["parameters"][0]["literal"] == "5"


def test_a_reader_is_told_the_delivered_time_whatever_this_build_took(tmp_path):
    project = execute.Project(tmp_path)
    pages = [f"book/{name}" for name in "abcd"]
    toc = {"root": pages[0], "chapters": [{"file": page} for page in pages[1:]]}
    (tmp_path / "_toc.yml").write_text(json.dumps(toc))
    (tmp_path / "book" / "ldpbook").mkdir(parents=True)
    durations = tmp_path / "book" / "ldpbook" / "durations.csv"
    durations.write_text("page,seconds\n" + "".join(f"{page},30\n" for page in pages[:3]))
    for page_, changed in zip([pages[0], pages[1], pages[3]], [{}, {"trials": 5}, {}]):
        record, known = project.executed(page_, ".json"), {"seconds": 2.0, "parameters": changed}
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(known | {"check": execute._check(known)}))
    for page_ in pages:
        project.source(page_).touch()
    assert execute.expected(project) == {"book/a": 30, "book/b": 30}


def test_names_in_the_glossary_exist_in_the_module():
    paths = [*(ROOT / "ldpkit").rglob("*.py"), *(ROOT / "book").rglob("*.ipynb")]
    known = set(re.findall(r"\w+", "\n".join(path.read_text() for path in paths)))
    table = re.findall(r"^\| .*", (ROOT / "book" / "notation.md").read_text(), flags=re.M)
    cells = [row.split(" | ")[2] for row in table if row.count(" | ") > 1]
    spans = [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]
    names = {word for span in spans for word in re.findall(r"[A-Za-z_][A-Za-z_0-9]+", span)}
    assert names and names - known == set()


def test_links_that_lead_nowhere_are_found_without_the_network(tmp_path):
    (tmp_path / "a").mkdir()
    good = '<h1 id="top"></h1><a href="../y.html#here"></a><a href="#top"></a>'
    (tmp_path / "a" / "x.html").write_text(f'{good}<img src="https://e.org/i">')
    leads = ("a/x.html", "a/x.html#gone", "no.csv", "mailto:x")
    links = "".join(f'<a href="{address}"></a>' for address in leads)
    (tmp_path / "y.html").write_text(f'<p id="here"><i id="here"></i>{links}')
    found = build.broken_links(tmp_path)
    assert len(found) == 3 and all(said.startswith("y.html ") for said in found)
    assert [w for w, said in zip(("here", "a/x.html#gone", "no.csv"), found) if w not in said] == []
