"""Run sweeps whose finished cells are stored, and reused as long as everything on which they depend is unchanged.

`Graph` finds the files on which a piece of code depends. It follows the imports of a source text through the packages and through
helper files in the same folder. A module counts as a whole. A name that an ``__init__`` file imports leads to the module that
defines the name. For example, a page about key-value mechanisms does not depend on the gradient mechanisms that are exported next
to them. Where a name cannot be followed, everything in that package counts. That happens if a package is used as a value, or if
its ``__init__`` defines the name itself.

Tests hold the packages to the two assumptions that make this safe. An import of a module changes nothing but the module's own
names. No module imports another one by a computed name, except a reader's own client.
"""

import ast
import hashlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ldpkit import digests
from ldpkit.grid import combinations, grid

from . import paths
from .figures import PAPERS

__all__ = ["combinations", "identity", "sweep"]

OF_PAPERS = ("published", "claims", "reference")
"""Folders of data whose files have the name of a paper; what code reads there, it reads by that name."""
Node = tuple[str, str | None]
"""A module, or the path of a helper file, with the wanted name in it; ``None`` means the whole file."""


class Graph:
    """The imports of a package, as its files were when the graph was made.

    Parameters
    ----------
    *roots : path
        Folders of the packages. Their files are read when the graph is made. Therefore a later digest describes the code that
        this process runs, even if a file was edited since.
    """

    def __init__(self, *roots: Path) -> None:
        paths = {
            ".".join([root.name, *p.relative_to(root).with_suffix("").parts]): p
            for root in roots
            for p in sorted(root.rglob("*.py"))
        }
        self.names = {root.name for root in roots}
        self.modules = {module.removesuffix(".__init__"): path for module, path in paths.items()}
        self._content = {path: path.read_bytes() for path in self.modules.values()}
        self._found: dict[Node, list[Node]] = {}

    def read(self, path: Path) -> bytes:
        """Return the content of a file; for the package's own files, the content at the time when the graph was made."""
        return self._content[path] if path in self._content else path.read_bytes()

    def files(self, source: str, folder: Path | None = None) -> list[Path]:
        """Return the files on which a source text depends.

        Parameters
        ----------
        source : str
            Python code.
        folder : path, optional
            Folder of the code; its modules are followed as well.

        Returns
        -------
        list of paths
            Sorted; includes the ``__init__`` files that Python executes on the way.

        Raises
        ------
        SyntaxError
            If the code, or a file that it imports, is not valid Python.
        """
        todo = self._needs(ast.parse(source), "", folder)
        seen: set[Node] = set()
        found: set[Path] = set()
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            module = node[0]
            if module not in self.modules:
                found.add(Path(module))
                todo += self._needs(ast.parse(self.read(Path(module))), "", folder)
                continue
            found |= {self.modules[start] for start in itertools.accumulate(module.split("."), "{}.{}".format)}
            if node not in self._found:
                self._found[node] = self._next(*node)
            todo += self._found[node]
        return sorted(found)

    def digest(self, source: str, folder: Path | None = None) -> str:
        """Return a digest of a source text and of the files it depends on, by name and content.

        Code that imports `ldpbook.paths` can read the checkout's data, and therefore depends on all data files. There are two
        exceptions. No code depends on the files with which builds are compared (``expected_*``). Code depends on the files of a
        paper (`OF_PAPERS`) only if it names the paper, or if its folder does.
        """
        sha = hashlib.sha256(source.encode())
        found = self.files(source, folder)
        if (knows := self.modules.get("ldpbook.paths")) in found:
            own = [path for path in found if path not in self._content]
            named = "\n".join([source, *([folder.name] if folder else []), *(self.read(path).decode() for path in own)])
            found += sorted(
                path
                for path in (knows.parents[2] / "data").rglob("*")
                if path.is_file() and not path.name.startswith("expected_")
                and (path.parent.name not in OF_PAPERS or any(paper in named for paper in PAPERS if path.name.startswith(paper)))
            )  # fmt: skip
        for path in found:
            sha.update(f"\0{path.parent.name}/{path.name}\0".encode() + self.read(path))
        return sha.hexdigest()

    def _is_package(self, module: str) -> bool:
        return module in self.modules and self.modules[module].name == "__init__.py"

    def _imports(self, tree: ast.AST, package: str, folder: Path | None) -> Iterator[tuple[str, Node]]:
        """Yield every name that an import binds, with what it is bound to."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.modules:  # without `as` the import binds the package, and with it everything
                        yield (
                            alias.asname or alias.name.partition(".")[0],
                            (alias.name if alias.asname else alias.name.partition(".")[0], None),
                        )
                    elif folder and (folder / f"{alias.name}.py").exists():
                        yield alias.asname or alias.name, (str(folder / f"{alias.name}.py"), None)
            elif isinstance(node, ast.ImportFrom):
                source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                for alias in node.names:
                    if f"{source}.{alias.name}" in self.modules:
                        yield alias.asname or alias.name, (f"{source}.{alias.name}", None)
                    elif source in self.modules:
                        by_name = self._is_package(source) and alias.name != "*"
                        yield alias.asname or alias.name, (source, alias.name if by_name else None)
                    elif folder and (folder / f"{source}.py").exists():
                        yield alias.asname or alias.name, (str(folder / f"{source}.py"), None)

    def _needs(self, tree: ast.AST, package: str, folder: Path | None) -> list[Node]:
        """Return what a syntax tree imports; if only attributes of a package are used, return those attributes alone."""
        bare, attributes = used(tree)
        found: list[Node] = []
        for name, (module, wanted) in self._imports(tree, package, folder):
            if wanted is None and self._is_package(module) and module not in self.names and name not in bare | {"*"}:
                found += [(module, attribute) for attribute in attributes.get(name, ())]
            else:
                found.append((module, wanted))
        return found

    def _next(self, module: str, wanted: str | None) -> list[Node]:
        """Return what a module, or one name of an ``__init__``, depends on directly."""
        if f"{module}.{wanted}" in self.modules:
            return [(f"{module}.{wanted}", None)]
        tree = ast.parse(self.read(self.modules[module]))
        package = module if self._is_package(module) else module.rpartition(".")[0]
        if wanted is None:
            below = [(other, None) for other in self.modules if other.startswith(f"{module}.")]
            return [*self._needs(tree, package, None), *below]
        return [node for name, node in self._imports(tree, package, None) if name == wanted] or [(module, None)]


def used(tree: ast.AST) -> tuple[set[str], dict[str, set[str]]]:
    """Return the names that a syntax tree uses alone, and the attributes of its other names."""
    attributes: dict[str, set[str]] = {}
    owners = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
            owners.add(id(node.value))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in owners}, attributes


PACKAGE = Graph(Path(digests.__file__).parent, Path(__file__).parent)
"""The imports of both packages, as their files were when this process began."""


def identity(func: Callable[..., object]) -> str:
    """Return a digest of a function, of exactly the code that it depends on, and of the versions of the libraries.

    A function of a file counts with its whole file. A function defined in a notebook counts with its own source and with
    everything of the notebook that it uses. See `ldpkit.digests.identity`.
    """
    return digests.identity(func, _code)


def sweep(func: Callable[..., object], cells: Any, **options: Any) -> pd.DataFrame:
    """Return the table of a grid; a finished cell is stored and reused as long as everything on which it depends is unchanged.

    The parameters are those of `ldpkit.grid.grid`.
    """
    own: Any = {"store": paths.STORE, "identity": identity}
    return grid(func, cells, **own | options)


def _code(owner: Any) -> str:
    """Return a digest of everything on which a function or a class depends."""
    path = getattr(sys.modules.get(owner.__module__ or ""), "__file__", None)
    if owner.__module__ in PACKAGE.modules:
        text, folder = f"from {owner.__module__} import {owner.__name__}", None
    elif path:
        text, folder = Path(path).read_text(encoding="utf-8"), Path(path).parent
    else:
        text, folder = digests.notebook(owner), Path.cwd()
    return PACKAGE.digest(text, folder)
