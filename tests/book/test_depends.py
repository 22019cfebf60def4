"""What a result depends on: exactly the files that can change it, by reading imports, checked
against what really runs."""

import ast
import importlib.metadata
import itertools
import linecache
import platform
import sys
import types
from pathlib import Path

import pytest

import ldpkit
from ldpbook import stored
from ldpbook.stored import PACKAGE, Graph
from ldpkit import auditors, digests
from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import Audit, KVAudit
from ldpkit.mechanisms import LDPSGD, PCKVGRR

ROOT = Path(ldpkit.__file__).parent
PAGES = "plots plot_style paper_values claims datasets neural_networks stored paths".split()
OWN = {
    name: path
    for name, path in PACKAGE.modules.items()
    if name.startswith("ldpkit") or name.partition(".")[2] in PAGES
}

IMPORTS = "from ..low import low\nfrom .a import a_thing\nfrom .b import b_thing as bee, unused\n"
TOY = {
    "__init__.py": "VERSION = 1",
    "low.py": "def low(): return 1",
    "other.py": "",
    "pick.py": "from .room import a_thing",
    "whole.py": "from . import room\nroom.register(room)",
    "part.py": "from . import room as r\nr.a_thing\nr.low",
    "own.py": "from . import room as r\nr.NAMES",
    "room/__init__.py": f"{IMPORTS}NAMES = [bee]\n",
    "room/a.py": "a_thing = 'a'",
    "room/b.py": "from ..other import *\nb_thing = unused = 'b'",
    "../helper.py": "import second\n",
    "../second.py": "from toy.room import low\nimport helper\n",
}
A, B = ["room/__init__.py", "room/a.py"], ["room/__init__.py", "room/b.py", "other.py"]
ROOM = [*A, *B, "low.py"]
REACHED = {
    "import math": [],
    "import toy.low as low": ["low.py"],
    "from toy.room.a import a_thing": A,
    "from toy.room import a_thing": A,
    "from toy.room import low": ["room/__init__.py", "low.py"],
    "from toy.room import bee": B,
    "from toy.room import NAMES": ROOM,
    "from toy.room import a": A,
    "from toy.room import *": ROOM,
    "from toy.room import made_by_magic": ROOM,
    "from toy import room\nroom.a_thing": A,
    "from toy import room\nprint(room.a_thing, room)": ROOM,
    "def f():\n    from toy import pick": ["pick.py", *A],
    "from toy import part": ["part.py", *A, "low.py"],
    "from toy import own": ["own.py", *ROOM],
    "from toy import whole": ["whole.py", *ROOM],
    "from helper import x": ["../helper.py", "../second.py", "room/__init__.py", "low.py"],
    "import toy.low": [name for name in TOY if name != "__init__.py" and ".." not in name],
}


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "toy" / "room").mkdir(parents=True)
    for name, text in TOY.items():
        (tmp_path / "toy" / name).write_text(text)
    return tmp_path


def test_imports_are_followed_to_the_files_that_matter(toy):
    graph, wrong = Graph(toy / "toy"), []
    for source, files in REACHED.items():
        found = {path.resolve() for path in graph.files(source, toy)} - {toy / "toy/__init__.py"}
        if found != {(toy / "toy" / name).resolve() for name in files}:
            wrong.append((source, found))
    assert wrong == []
    with pytest.raises(SyntaxError):
        graph.files("from toy import", toy)


def test_a_digest_changes_with_a_file_that_matters_and_only_then(toy):
    old = Graph(toy / "toy")

    def digests(graph):
        imported = ("from toy.room import a_thing", "from helper import x")
        return [graph.digest(source, toy) for source in imported]

    before = digests(old)
    for name, changed in (("room/b", []), ("low", [1]), ("room/a", [0, 1])):
        (toy / f"toy/{name}.py").write_text("a_thing = b_thing = unused = low = 'new'")
        after = digests(Graph(toy / "toy"))
        assert [i for i in (0, 1) if after[i] != before[i]] == changed, name
    assert digests(old) == before  # it speaks of the code that was there when it was made


def test_code_that_knows_where_the_data_lie_depends_on_them(tmp_path):
    book, data = tmp_path / "book" / "ldpbook", tmp_path / "data"
    book.mkdir(parents=True)
    data.mkdir()
    sources = {"__init__": "", "paths": "", "reader": "from . import paths", "low": ""}
    for name, text in sources.items():
        (book / f"{name}.py").write_text(text)

    def digests():
        return [Graph(book).digest(f"from ldpbook import {name}") for name in ("reader", "low")]

    before = digests()
    (data / "counts.csv").write_text("1,2")
    after = digests()
    assert after[0] != before[0] and after[1] == before[1]
    (data / "expected_counts.csv").write_text("1,2")  # what builds are compared with
    assert digests() == after


def test_a_number_of_one_paper_touches_its_own_pages_and_those_that_name_it(tmp_path):
    book, data = tmp_path / "book" / "ldpbook", tmp_path / "data" / "published"
    pages = [tmp_path / "book" / name for name in ("rad", "ldp_sgd")]
    for folder in (book, data, *pages):
        folder.mkdir(parents=True)
    for name in ("__init__", "paths"):
        (book / f"{name}.py").write_text("")
    (pages[1] / "helper.py").write_text('TABLE = "rad"')

    def digests():
        code = "from ldpbook import paths"
        asked = [(code, pages[0]), (code, pages[1]), (f"{code}\nimport helper", pages[1])]
        return [Graph(book).digest(*one) for one in asked]

    for name, touched in (("rad.csv", [True, False, True]), ("ldp_sgd.csv", [False, True, True])):
        before = digests()
        (data / name).write_text("1,2")
        assert [one != other for one, other in zip(before, digests())] == touched, name


def ran(call):
    """Files of the package whose functions ran; compiled kernels show their Python side only."""
    seen = set()

    def watch(frame, event, _):
        name = frame.f_code.co_filename
        if name.startswith(str(ROOT)) and frame.f_code.co_name != "<module>":
            seen.add(Path(name))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


MECHANISMS = {
    "SS": {}, "OLH": {}, "THE": {}, "AGM": {"delta": 1e-5}, "SUE": {"tau": 3}, "RSFD[GRR]": {"d": 2},
    "dBitFlipPM": {"buckets": 6, "bits": 2}, "L-OSUE": {"first": 0.5},
}  # fmt: skip


def audits():
    given = {"k": 6, "epsilon": 1.0, "trials": 500, "seed": 1}
    cases = itertools.product(MECHANISMS.items(), ("guess", "tight"), (False, True))
    for (name, extra), attack, faithful in cases:
        Audit.cell(mechanism=name, attack=attack, faithful=faithful, **given, **extra)


def kv_audits():
    for name in ("PCKV-UE", "PCKV-GRR"):
        KVAudit.cell(mechanism=name, k=3, epsilon=1.0, padding=1, trials=1000, runs=2, seed=1)


RUNS = {
    "from ldpkit.auditors import Audit": audits,
    "from ldpkit.auditors import KVAudit": kv_audits,
    "from ldpkit.auditors import KVAudit\nfrom ldpkit.mechanisms import PCKVGRR": lambda: (
        auditors.KVAudit(PCKVGRR(4, 1.0, 2), trials=2000).run(1)
    ),
    "from ldpkit.auditors import rad_result": lambda: auditors.rad_result(300, 1000, 5, "GRR"),
    "from ldpkit.auditors import calibrate": lambda: auditors.calibrate("laplace", 0.2, 10),
    "from ldpkit.auditors import GradientAudit\nfrom ldpkit.mechanisms import LDPSGD\nfrom ldpkit.attacks.gradient import dummy": lambda: (
        auditors.GradientAudit(LDPSGD(50, 1.0), dummy(50), trials=100).run(1)[0]
    ),
    "from ldpkit.auditors import ShuffleAudit": lambda: auditors.ShuffleAudit(
        1.0, 500, faithful=True, trials=100
    ).run(1)[0],
}


def test_nothing_runs_that_the_imports_do_not_show():
    wrong = []
    for source, call in RUNS.items():
        known, seen = set(PACKAGE.files(source)), ran(call)
        assert seen and known < set(OWN.values()), source
        wrong += [(source, path) for path in seen - known]
    assert wrong == []


HIDES = {"import_module", "__import__", "__subclasses__", "singledispatch", "exec"}
"""Names by which a module could use code that no import shows."""

LAZY = {"ldpkit", "ldpkit.__main__", "ldpkit.cli", "ldpkit.cli.group", "ldpkit.digests"}
"""Modules that import others by a name, when it is asked for."""


def test_modules_import_by_written_names_and_do_nothing_else_when_imported():
    wrong = []
    for module in sorted(set(OWN) - LAZY):
        tree = ast.parse(PACKAGE.modules[module].read_bytes())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        hides = HIDES & (names | attributes)
        if module != "ldpbook.claims":  # its expressions only see what a page imports and passes
            hides |= {"eval"} & names  # networks have .eval()
        wrong += [(module, name) for name in hides]
        for one in tree.body:  # no calls for their effect, no changes of other modules
            call = isinstance(one, ast.Expr) and not isinstance(one.value, ast.Constant)
            targets = one.targets if isinstance(one, ast.Assign) else []
            others = [t for t in targets if not isinstance(t, (ast.Name, ast.Tuple))]
            others = [t for t in others if ast.unparse(t) != "plt.rcParams"]
            text = ast.unparse(one)
            call &= not text.startswith("os.register_at_fork(")  # which no other module can do
            if (call and not module.startswith("ldpkit.cli")) or others:
                wrong.append((module, text))
    assert wrong == []


def notebook(monkeypatch, *sources, **names):
    """A module without a file, whose source is known line by line: what a notebook is to Python."""
    module = types.ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", module)
    module.__dict__.update(names)
    for i, source in enumerate(sources):
        name = f"<cell {i} {hash(sources)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), module.__dict__)
    return module


def test_a_function_of_a_notebook_counts_with_everything_it_uses(monkeypatch):
    cell = "def cell(x, seed):\n    return {'y': helper(x) + offset}\n"
    helper = "def helper(x):\n    return 2 * x\n"

    def identity(*sources, **names):
        return stored.identity(notebook(monkeypatch, *sources, **({"offset": 1} | names)).cell)

    first = identity(helper, cell)
    assert first == identity(helper, cell, unused=5) == identity("# said first\n" + helper, cell)
    others = [
        identity(helper, cell, offset=2),
        identity(helper.replace("2", "3"), cell),
        identity(helper, cell.replace("+", "-")),
        identity(helper, cell.replace("seed", "seed, z=1")),
        identity("from ldpkit.stats import epsilon_lower as helper\n", cell),
        identity("from ldpkit.stats import clopper_pearson as helper\n", cell),
    ]
    assert len({first, *others}) == 7
    assert identity("def helper(x):\n    return x and cell(0, 1)['y']\n", cell)  # recursion ends


def test_functions_differ_by_the_values_they_hold_by_name_and_by_what_they_reach():
    def make(power):
        def cell(x, seed):
            return {"y": x**power}

        return cell

    assert stored.identity(make(2)) == stored.identity(make(2)) != stored.identity(make(3))
    assert stored.identity(Audit.cell) != stored.identity(KVAudit.cell)
    assert stored.identity(kv_audits) != stored.identity(ran)


def test_versions_of_the_libraries_count_also_where_one_is_absent(monkeypatch):
    before, real = stored.identity(Audit.cell), importlib.metadata.distributions
    absent = {"scikit-learn", "statsmodels"}

    def distributions(name):
        return [] if name in absent else real(name=name)

    with monkeypatch.context() as there:
        there.setattr(digests.platform, "python_version", lambda: "3.99.0")
        assert stored.identity(Audit.cell) != before
    monkeypatch.setattr(importlib.metadata, "distributions", distributions)
    assert {name for name, found in digests.versions().items() if found == "absent"} == absent
    assert stored.identity(Audit.cell) != before


def test_what_has_no_source_is_refused():
    names = {}
    exec("def cell(seed):\n    return {}", names)
    for thing in (names["cell"], print, PCKVGRR, LDPSGD(5, 1.0).perturb, "name", None):
        with pytest.raises(TypeError, match="func"):
            stored.identity(thing)


SILENT = {
    "IPython", "cycler", "matplotlib", "matplotlib_inline", "seaborn", "tqdm",  # show
    "click", "hypothesis", "yaml", "pooch", "pyarrow",  # read
    "cloudpickle", "distributed", "joblib", "threadpoolctl",  # carry cells to workers
}  # fmt: skip
"""Libraries that the package imports and no stored number can depend on."""


def test_versions_name_every_library_that_computes():
    trees = [ast.parse(path.read_bytes()) for path in OWN.values()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found = [n.names for n in nodes if isinstance(n, ast.Import)]
    imported = {alias.name for names in found for alias in names}
    imported |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    known = set(sys.stdlib_module_names) | {"ldpkit"}
    foreign = {name.partition(".")[0] for name in imported} - known
    assert foreign >= SILENT
    found = digests.versions()
    assert found.pop("Python") == platform.python_version()
    owner = importlib.metadata.packages_distributions()
    computing = {owner[name][0] for name in foreign - SILENT}
    assert found == {name: importlib.metadata.version(name) for name in computing}
