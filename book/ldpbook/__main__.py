"""Run the commands of the book: ``python -m ldpbook COMMAND``."""

import os
import pkgutil
import subprocess
import sys

import click

from .paths import ROOT

PYTEST = ["-m", "pytest", "-q"]
FUNCTIONS = {
    "build": ("execute all notebooks and build the book (make book)", "build:main"),
    "page": ("run one page with other parameters (make page)", "build:page"),
    "chapter": ("execute and build one chapter alone (make chapter)", "build:chapter"),
    "live": ("serve the built book and JupyterLab, so that its cells run in the browser (make lab)", "live:main"),
    "check_pages": ("check that every page was built and that every link leads somewhere", "build:check_pages"),
    "datasets": ("fetch MNIST, Fashion-MNIST and Adult, and check them (make data)", "datasets:main"),
    "expected": ("keep what this build found, and how long it took, for the builds of others", "compare_builds:expected"),
    "artifact": ("fill in ARTIFACT.md and codecheck.yml", "artifact:main"),
    "letters": ("run the scripts of the letters whose releases are installed", "release:read_out"),
    "signatures": ("list for which types the engine of the published book compiles kernels", "engine.signatures:main"),
    "dependencies": ("write lock files, check sums and licences (make lock)", "dependencies:main"),
    "bundle": ("make one file with the sources and all that is installed, for a machine without a network", "release:bundle"),
    "vulnerabilities": (
        "look the locked releases up among the known vulnerabilities (needs the network)",
        "dependencies:vulnerabilities",
    ),
    "reproduce": ("build the last commit twice, in two folders, and compare every file", "release:twice"),
    "release": ("make sources, wheel and book of the last commit (make release)", "release:main"),
}
"""Commands that are functions of this package, each with its help."""
PROGRAMS = {
    "system": ("test installations, kills, clusters and servers", [*PYTEST, "-n", "auto", "--dist", "loadgroup", "tests/system"]),
    "variants": ("run every page with other parameters, and judge its sentences (--list: those of the last run)",
                 ["tests/helpers/variants.py"]),
    "sentences": ("list the sentences that a parameter could make false and that nothing keeps true",
                  ["tests/helpers/sentences.py"]),
    "browser": ("test the built book in Chromium", [*PYTEST, "tests/browser"]),
    "mutants": ("break one exact distribution at a time and see whether its page notices", ["tests/helpers/mutants.py"]),
    "faults": ("make one small fault in the code at a time and see whether a test fails", ["tests/helpers/faults.py"]),
    "chaos": ("kill, damage and misuse everything on purpose", ["-m", "chaos"]),
    "fuzz": ("read files and addresses made by grammar and mutation", ["tests/helpers/fuzz.py"]),
    "coverage": ("test, and list the lines of ldpkit that no test reaches", ["tests/helpers/covered.py"]),
    "language": ("count the sentences that break a rule of how we write", ["tests/helpers/language.py"]),
    "engine": ("run every page in Chromium as a reader would, and keep which of them run there (after make book)",
               ["tests/helpers/engine_pages.py"]),
    "picture": ("take the README's picture of a page that ran in Chromium (after make book)", ["tests/helpers/picture.py"]),
    "scripts": ("check the book's JavaScript: form, common mistakes, types (needs node and npm)", ["tests/helpers/javascript.py"]),
    "links": ("check the links that lead out of the book (needs the network)",
              ["-c", "from jupyter_book.cli.main import main; main()", "build", "--builder", "linkcheck", "--keep-going", "-q", "."]),
    "explore": ("compute the grids behind the explorers", ["book/_static/explore/grids.py"]),
    "reference": ("repeat audits with the released code of LDP-Auditor (needs the network)", ["benchmarks/repeat.py"]),
    "released": ("audit every released client, with the heavy packages too", ["book/released/table.py"]),
}  # fmt: skip
"""Commands that are programs of the checkout outside this package."""
FILES = {
    "scripts": ["_build/js/.ready"],
    "released": ["heavy"],
    "vulnerabilities": ["_build/pip-audit/.ready"],
    "reference": ["_build/reference/venv/.ready", "_build/reference/ldp-audit/.ready"],
}
"""Targets that make builds before a command runs, by command."""
SETTINGS = {
    name: {"PYTHONPATH": str(ROOT / "tests" / folder)} for name, folder in (("chaos", "system"), ("engine", ""), ("picture", ""))
}


def main() -> None:
    """Run the command that the first word on the command line names, and pass the other words on to that command."""
    known = {name: what for name, (what, _) in (FUNCTIONS | PROGRAMS).items()}
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in known:
        lines = [f"  {word:{max(map(len, known))}}  {what}" for word, what in known.items()]
        print("\n".join(["usage: python -m ldpbook COMMAND ...", "", *lines]), file=sys.stderr)
        sys.exit(0 if name in ("-h", "--help") else 2)
    if name in FILES and (made := subprocess.run(["make", "-s", f"VENV={sys.prefix}", *FILES[name]], cwd=ROOT).returncode):
        sys.exit(made)
    if name in FUNCTIONS:
        sys.argv = [f"python -m ldpbook {name}", *sys.argv[2:]]
        command = pkgutil.resolve_name(f"ldpbook.{FUNCTIONS[name][1]}")
        sys.exit(command.main(prog_name=sys.argv[0]) if isinstance(command, click.Command) else command())
    program = [sys.executable, *PROGRAMS[name][1], *sys.argv[2:]]
    sys.exit(subprocess.run(program, cwd=ROOT, env=os.environ | SETTINGS.get(name, {})).returncode)


if __name__ == "__main__":
    main()
