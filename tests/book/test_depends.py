"""What a result depends on: exactly the files that can change it, by reading imports, checked
against what really runs."""

import ast
import importlib.metadata
import json
import linecache
import platform
import sys
import types
from pathlib import Path

import pytest

import ldpkit
from ldpbook import stored
from ldpbook.dependencies import PACKAGE, Graph
from ldpkit import digests
from ldpkit.auditors import (
    Audit,
    KVAudit,
    audit_gradient,
    audit_kv,
    audit_shuffle,
    calibrate,
    rad_result,
)
from ldpkit.mechanisms import LDPSGD, PCKVGRR

ROOT = Path(ldpkit.__file__).parent
PAGES = (
    "plots plot_style paper_values comparisons claims datasets nets crafting stored paths".split()
)
OWN = {
    name: path
    for name, path in PACKAGE.modules.items()
    if name.startswith("ldpkit") or name.partition(".")[2] in PAGES
}

TOY = {
    "__init__.py": "VERSION = 1",
    "low.py": "def low(): return 1",
    "other.py": "",
    "pick.py": "from .room import a_thing",
    "whole.py": "from . import room\nroom.register(room)",
    "part.py": "from . import room as r\nr.table['a']\nr.low",
    "room/__init__.py": (
        "from ..low import low\nfrom .a import a_thing\nfrom .b import b_thing as bee,"
        " unused\nNAMES = [x for x in (bee,)]\nNAMES += [bee]\ntable = {x: 0 for x in"
        " (a_thing,)}\nloud = {}\nloud.update(other=bee)\n"
    ),
    "room/a.py": "a_thing = 'a'",
    "room/b.py": "from ..other import *\nb_thing = unused = 'b'",
}


@pytest.fixture
def toy(tmp_path):
    for name, text in TOY.items():
        (tmp_path / "toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "toy" / name).write_text(text)
    (tmp_path / "helper.py").write_text("import second\n")
    (tmp_path / "second.py").write_text("from toy.room import low\nimport helper\n")
    return tmp_path


def reached(toy, source):
    graph = Graph(toy / "toy")
    return {
        p.relative_to(toy).as_posix().removeprefix("toy/") for p in graph.files(source, toy)
    } - {"__init__.py"}


@pytest.mark.parametrize(
    ("source", "files"),
    {
        "import math": set(),
        "import toy.low as low": {"low.py"},
        "from toy.room.a import a_thing": {"room/__init__.py", "room/a.py"},
        "from toy.room import a_thing": {"room/__init__.py", "room/a.py"},
        "from toy.room import low": {"room/__init__.py", "low.py"},
        "from toy.room import bee": {"room/__init__.py", "room/b.py", "other.py"},
        "from toy.room import NAMES": {"room/__init__.py", "room/b.py", "other.py"},
        "from toy.room import table": {"room/__init__.py", "room/a.py"},
        "from toy.room import loud": {"room/__init__.py", "room/b.py", "other.py"},
        "from toy.room import a": {"room/__init__.py", "room/a.py"},
        "from toy.room import *": {
            "room/__init__.py",
            "room/a.py",
            "room/b.py",
            "other.py",
            "low.py",
        },
        "from toy.room import made_by_magic": {
            "room/__init__.py",
            "room/a.py",
            "room/b.py",
            "other.py",
            "low.py",
        },
        "from toy import room\nroom.a_thing": {"room/__init__.py", "room/a.py"},
        "from toy import room\nprint(room.a_thing, room)": {
            "room/__init__.py",
            "room/a.py",
            "room/b.py",
            "other.py",
            "low.py",
        },
        "def f():\n    from toy import pick": {"pick.py", "room/__init__.py", "room/a.py"},
        "from toy import part": {"part.py", "room/__init__.py", "room/a.py", "low.py"},
        "from toy import whole": {
            "whole.py",
            "room/__init__.py",
            "room/a.py",
            "room/b.py",
            "other.py",
            "low.py",
        },
        "from helper import x": {"../helper.py", "../second.py", "room/__init__.py", "low.py"},
        "import toy.low": set(TOY) - {"__init__.py"},
    }.items(),
)
def test_imports_are_followed_to_the_files_that_matter(toy, source, files):
    found = {
        f"../{name}" if name in ("helper.py", "second.py") else name
        for name in reached(toy, source)
    }
    assert found == files


def test_a_digest_changes_with_a_file_that_matters_and_only_then(toy):
    def digest(source):
        return Graph(toy / "toy").digest(source, toy)

    before = [digest("from toy.room import a_thing"), digest("from helper import x")]
    (toy / "toy/room/b.py").write_text("b_thing = unused = 'new'")
    assert [digest("from toy.room import a_thing"), digest("from helper import x")] == before
    (toy / "toy/low.py").write_text("def low(): return 2")
    assert digest("from toy.room import a_thing") == before[0]
    assert digest("from helper import x") != before[1]
    (toy / "toy/room/a.py").write_text("a_thing = 'new'")
    assert digest("from toy.room import a_thing") != before[0]


def test_code_that_knows_where_the_data_lie_depends_on_them(tmp_path):
    book = tmp_path / "book" / "ldpbook"
    book.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    for name, text in {
        "__init__": "",
        "paths": "",
        "reader": "from . import paths",
        "low": "",
    }.items():
        (book / f"{name}.py").write_text(text)

    def digests():
        return [Graph(book).digest(f"from ldpbook import {name}") for name in ("reader", "low")]

    before = digests()
    (tmp_path / "data" / "counts.csv").write_text("1,2")
    after = digests()
    assert after[0] != before[0] and after[1] == before[1]
    (tmp_path / "data" / "expected_counts.csv").write_text("1,2")  # what builds are compared with
    assert digests() == after


def test_a_graph_speaks_of_the_code_that_was_there_when_it_was_made(toy):
    graph = Graph(toy / "toy")
    before = graph.digest("from toy import low")
    (toy / "toy/low.py").write_text("def low(): return 2")
    assert (
        graph.digest("from toy import low")
        == before
        != Graph(toy / "toy").digest("from toy import low")
    )


def test_code_that_is_no_python_is_refused(toy):
    with pytest.raises(SyntaxError):
        reached(toy, "from toy import")


def ran(call):
    """Files of the package of which functions ran during a call; compiled kernels are seen by their
    Python side only."""
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


RUNS = {
    "from ldpkit.auditors import Audit": [
        lambda name=name, attack=attack, extra=extra: Audit.cell(
            mechanism=name,
            attack=attack,
            k=6,
            epsilon=1.0,
            trials=500,
            faithful=faithful,
            seed=1,
            **extra,
        )
        for name, extra in {
            "SS": {},
            "OLH": {},
            "THE": {},
            "AGM": {"delta": 1e-5},
            "SUE": {"tau": 3},
            "RSFD[GRR]": {"d": 2},
            "dBitFlipPM": {"buckets": 6, "bits": 2},
            "L-OSUE": {"first": 0.5},
        }.items()
        for attack in ("guess", "tight")
        for faithful in (False, True)
    ],
    "from ldpkit.auditors import KVAudit": [
        lambda m=m: KVAudit.cell(
            mechanism=m, k=3, epsilon=1.0, padding=1, users=1000, runs=2, seed=1
        )
        for m in ("PCKV-UE", "PCKV-GRR")
    ],
    "from ldpkit.auditors import audit_kv\nfrom ldpkit.mechanisms import PCKVGRR": [
        lambda: audit_kv(PCKVGRR(4, 1.0, 2), users=2000, seed=1)
    ],
    "from ldpkit.auditors import rad_result": [lambda: rad_result(300, 1000, 5, "GRR")],
    "from ldpkit.auditors import calibrate": [lambda: calibrate("laplace", 0.2, 10)],
    "from ldpkit.auditors import audit_gradient\nfrom ldpkit.mechanisms import LDPSGD\nfrom ldpkit.attacks.gradient import dummy": [
        lambda: audit_gradient(LDPSGD(50, 1.0), dummy_pair(), trials=200, seed=1)
    ],
    "from ldpkit.auditors import audit_shuffle": [
        lambda: audit_shuffle(1.0, 500, faithful=True, trials=200, seed=1)
    ],
}


def dummy_pair():
    from ldpkit.attacks.gradient import dummy

    return dummy(50)


@pytest.mark.parametrize("source", RUNS)
def test_nothing_runs_that_the_imports_do_not_show(source):
    known = set(PACKAGE.files(source))
    for call in RUNS[source]:
        seen = ran(call)
        assert seen and seen <= known, seen - known
    assert known < set(OWN.values())


def test_chapters_do_not_depend_on_each_others_mechanisms():
    def of(page):
        notebook = json.loads((ROOT.parent / "book" / f"{page}.ipynb").read_text())
        text = "\n".join(
            "".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"
        )
        return {p.name for p in PACKAGE.files(text, ROOT.parent / "book" / page.partition("/")[0])}

    assert {"pckv.py", "kv_pages.py"} <= of("kv_auditor/tables") and not {
        "subset.py",
        "hashing.py",
    } & of("kv_auditor/tables")
    assert {"subset.py", "hashing.py"} <= of("ldp_auditor/fig2") and not {
        "pckv.py",
        "nets.py",
    } & of("ldp_auditor/fig2")
    assert {"nets.py", "standins.py"} <= of("ldp_sgd/fig4") and not {"pckv.py", "unary.py"} & of(
        "ldp_sgd/fig4"
    )
    assert {"optimize.py", "poison.py"} <= of("refinement/fig6") and "nets.py" not in of(
        "refinement/fig6"
    )


@pytest.mark.parametrize(
    "module", sorted(set(OWN) - {"ldpkit", "ldpkit.__main__", "ldpkit.mechanisms.client"})
)
def test_modules_import_by_written_names_and_do_nothing_else_when_imported(module):
    tree = ast.parse(PACKAGE.modules[module].read_bytes())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} - {
        "eval"
    }  # a network's method
    assert not names & {
        "import_module",
        "__import__",
        "__subclasses__",
        "singledispatch",
        "exec",
        "eval",
    }
    for statement in (
        tree.body
    ):  # at the top level nothing but names: no calls for their effect, no changes of other modules
        assert (
            not isinstance(statement, ast.Expr)
            or isinstance(statement.value, ast.Constant)
            or module.startswith("ldpkit.cli")
        ), module
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        assert all(
            isinstance(t, (ast.Name, ast.Tuple)) or ast.unparse(t) in ("plt.rcParams",)
            for t in targets
        ), module


# --- functions ------------------------------------------------------------------------------------


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

    def identity(*sources, **names):
        return stored.identity(notebook(monkeypatch, *sources, **names).cell)

    helper = "def helper(x):\n    return 2 * x\n"
    first = identity(helper, cell, offset=1)
    assert (
        first
        == identity(helper, cell, offset=1, unused=5)
        == identity("# said first\n" + helper, cell, offset=1)
    )
    others = [
        identity(helper, cell, offset=2),
        identity(helper.replace("2", "3"), cell, offset=1),
        identity(helper, cell.replace("+", "-"), offset=1),
        identity(helper, cell.replace("seed", "seed, z=1"), offset=1),
        identity("from ldpkit.stats import epsilon_lower as helper\n", cell, offset=1),
        identity("from ldpkit.stats import clopper_pearson as helper\n", cell, offset=1),
    ]
    assert len({first, *others}) == 7


def test_recursion_in_a_notebook_ends(monkeypatch):
    module = notebook(
        monkeypatch,
        "def cell(x, seed):\n    return {'y': x and cell(x - 1, seed)['y'] + other(x)}\n",
        "def other(x):\n    return x and cell(0, 1)['y']\n",
    )
    assert stored.identity(module.cell) == stored.identity(module.cell)


def test_values_that_a_function_holds_count():
    def make(power):
        def cell(x, seed):
            return {"y": x**power}

        return cell

    assert stored.identity(make(2)) == stored.identity(make(2)) != stored.identity(make(3))


def test_functions_of_one_file_differ_by_name_and_those_of_the_package_by_what_they_reach():
    assert stored.identity(Audit.cell) != stored.identity(KVAudit.cell)
    assert stored.identity(dummy_pair) != stored.identity(ran)


def test_versions_of_the_libraries_count(monkeypatch):
    before = stored.identity(Audit.cell)
    monkeypatch.setattr(digests.platform, "python_version", lambda: "3.99.0")
    assert stored.identity(Audit.cell) != before


def test_what_has_no_source_is_refused():
    names = {}
    exec("def cell(seed):\n    return {}", names)
    with pytest.raises(TypeError, match="func must be defined in a file or a notebook"):
        stored.identity(names["cell"])
    for thing in (print, PCKVGRR, LDPSGD(5, 1.0).perturb, "name", None):
        with pytest.raises(
            TypeError, match="func must be a function to have its results stored, got"
        ):
            stored.identity(thing)


SILENT = {
    "IPython", "cycler", "matplotlib", "matplotlib_inline", "seaborn", "tqdm",  # show
    "click", "yaml", "pooch", "pyarrow",  # read
    "cloudpickle", "distributed", "loky", "threadpoolctl",  # carry cells to workers
}  # fmt: skip
"""Libraries that the package imports and no stored number can depend on."""


def test_versions_name_every_library_that_computes():
    trees = [ast.parse(path.read_bytes()) for path in OWN.values()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
    }
    foreign = (
        {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"ldpkit"}
    )
    assert foreign >= SILENT
    found = digests.versions()
    assert found.pop("Python") == platform.python_version()
    owner = importlib.metadata.packages_distributions()
    assert set(found) == {owner[name][0] for name in foreign - SILENT}
    assert found == {name: importlib.metadata.version(name) for name in found}


def test_a_library_that_is_not_there_counts_as_absent(monkeypatch):
    before, real = stored.identity(Audit.cell), importlib.metadata.version

    def version(name):
        if name in ("scikit-learn", "statsmodels"):
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert {name for name, found in digests.versions().items() if found == "absent"} == {
        "scikit-learn",
        "statsmodels",
    }
    assert stored.identity(Audit.cell) != before
