"""The commands of the book: ``python -m ldpbook COMMAND``; each is the function ``main`` of a module of
its name."""

import importlib
import sys

COMMANDS = {
    "build": "execute all notebooks and build the book",
    "page": "run one page with other parameters",
    "chapter": "execute and build one chapter alone",
    "live": "serve the built book and JupyterLab, so that its cells run in the browser",
    "check_pages": "check that every page was built and every link leads somewhere",
    "datasets": "fetch MNIST, Fashion-MNIST and Adult, and check them",
    "slides": "cut one slide show per paper from the built book",
    "expected": "keep what this build found, and how long it took, for the builds of others",
    "explore": "compute the grids behind the explorers",
    "artifact": "fill in ARTIFACT.md and codecheck.yml",
    "letters": "check what is known of letters to maintainers",
    "supply": "bring a lock file into the form in which it is kept",
    "bundle": "one file with the sources and all that is installed",
    "reproduce": "build the last commit twice and compare every file",
    "release": "make sources, wheel and book of the last commit",
}


def main() -> None:
    """Run the command that the first word names."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        width = max(map(len, COMMANDS))
        lines = [f"  {word:{width}}  {what}" for word, what in COMMANDS.items()]
        print("\n".join(["usage: python -m ldpbook COMMAND ...", "", *lines]), file=sys.stderr)
        sys.exit(0 if name in ("-h", "--help") else 2)
    sys.argv = [f"python -m ldpbook {name}", *sys.argv[2:]]
    sys.exit(importlib.import_module(f"ldpbook.{name}").main())


if __name__ == "__main__":
    main()
