"""Which files a piece of code depends on, read from its imports.

A stored result may be used again exactly as long as nothing changed that it was
computed from. This module answers what that is: it follows the imports of a
source text through the package and through helper files beside it. Modules are
followed whole; the ``__init__`` files, which only collect names from many
modules, are followed name by name, so that a page about key-value mechanisms
does not depend on the gradient mechanisms that happen to be exported beside
them. Where a name cannot be followed (a package used as a value, a name that
its ``__init__`` does not bind), everything in that package counts.

Two assumptions make this safe, and tests hold the package to them: modules act
on nothing but their own names when they are imported, and no module imports
another one by a computed name (a reader's own client excepted).
"""

import ast
import functools
import hashlib
import importlib.metadata
import inspect
import itertools
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["Graph", "PACKAGE", "code_digest", "identity", "missing", "versions"]

Node = tuple[str, str | None]
"""A module, or the path of a helper file, and the name wanted of it; ``None`` means all of it."""


class Graph:
    """The imports of a package, as its files were when this was made.

    Parameters
    ----------
    root : path
        Folder of the package. Its files are read now, so that a digest taken
        later describes the code that this process runs, not a later edit.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.name = root, root.name
        paths = {
            ".".join([root.name, *p.relative_to(root).with_suffix("").parts]): p
            for p in sorted(root.rglob("*.py"))
        }
        self.modules = {module.removesuffix(".__init__"): path for module, path in paths.items()}
        self._content = {path: path.read_bytes() for path in self.modules.values()}
        self._found: dict[Node, list[Node]] = {}

    def read(self, path: Path) -> bytes:
        """Return the content of a file; that of the package's own files as it was when the graph
        was made."""
        return self._content[path] if path in self._content else path.read_bytes()

    def files(self, source: str, folder: Path | None = None) -> list[Path]:
        """List the files that a source text depends on.

        Parameters
        ----------
        source : str
            Python code.
        folder : path, optional
            Where the code lies: modules of this folder are followed as well.

        Returns
        -------
        list of paths
            Sorted; includes the ``__init__`` files that Python executes on the way.

        Raises
        ------
        SyntaxError
            If the code, or a file it leads to, is no Python.
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
            found |= {
                self.modules[start]
                for start in itertools.accumulate(module.split("."), "{}.{}".format)
            }
            if node not in self._found:
                self._found[node] = self._next(*node)
            todo += self._found[node]
        return sorted(found)

    def digest(self, source: str, folder: Path | None = None) -> str:
        """Return a digest of a source text and of the files it depends on, by name and content.

        Code that knows where the checkout's data lie depends on all of them, but for what builds
        are compared with (``expected_*``).
        """
        sha = hashlib.sha256(source.encode())
        found = self.files(source, folder)
        if self.root / "paths.py" in found:
            found += sorted(
                path
                for path in (self.root.parent / "data").rglob("*")
                if path.is_file() and not path.name.startswith("expected_")
            )
        for path in found:
            sha.update(f"\0{path.parent.name}/{path.name}\0".encode() + self.read(path))
        return sha.hexdigest()

    def direct(self, module: str) -> set[str]:
        """Return the modules of the package that the source of `module` imports, wherever in the
        file."""
        tree = ast.parse(self.read(self.modules[module]))
        return {node[0] for _, node in self._imports(tree, self._package(module), None)} - {module}

    def _is_package(self, module: str) -> bool:
        return module in self.modules and self.modules[module].name == "__init__.py"

    def _package(self, module: str) -> str:
        return module if self._is_package(module) else module.rpartition(".")[0]

    def _imports(
        self, tree: ast.AST, package: str, folder: Path | None
    ) -> Iterator[tuple[str, Node]]:
        """Yield every name that an import binds, with what it is bound to."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if (
                        alias.name in self.modules
                    ):  # without `as` the import binds the package, and with it everything
                        yield (
                            alias.asname or self.name,
                            (alias.name if alias.asname else self.name, None),
                        )
                    elif folder and (folder / f"{alias.name}.py").exists():
                        yield alias.asname or alias.name, (str(folder / f"{alias.name}.py"), None)
            elif isinstance(node, ast.ImportFrom):
                parts = (
                    package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
                )
                source = ".".join([*parts, *([node.module] if node.module else [])])
                for alias in node.names:
                    if f"{source}.{alias.name}" in self.modules:
                        yield alias.asname or alias.name, (f"{source}.{alias.name}", None)
                    elif source in self.modules:
                        by_name = self._is_package(source) and alias.name != "*"
                        yield alias.asname or alias.name, (source, alias.name if by_name else None)
                    elif folder and (folder / f"{source}.py").exists():
                        yield alias.asname or alias.name, (str(folder / f"{source}.py"), None)

    def _needs(self, tree: ast.AST, package: str, folder: Path | None) -> list[Node]:
        """List what a tree imports; of a package of which it only uses attributes, those
        attributes."""
        bare, attributes = _used(tree)
        found: list[Node] = []
        for name, (module, wanted) in self._imports(tree, package, folder):
            if (
                wanted is None
                and self._is_package(module)
                and module != self.name
                and name not in bare | {"*"}
            ):
                found += [(module, attribute) for attribute in attributes.get(name, ())]
            else:
                found.append((module, wanted))
        return found

    def _next(self, module: str, wanted: str | None) -> list[Node]:
        """List what a module, or one name of an ``__init__``, leads to."""
        tree = ast.parse(self.read(self.modules[module]))
        if wanted is None:
            below = [(other, None) for other in self.modules if other.startswith(f"{module}.")]
            return [*self._needs(tree, self._package(module), None), *below]
        if f"{module}.{wanted}" in self.modules:
            return [(f"{module}.{wanted}", None)]
        imported = list(self._imports(tree, module, None))
        found: list[Node] = []
        todo, seen = [wanted], set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                sources = [node for other, node in imported if other == name]
                makers = [statement for statement in tree.body if name in _bound(statement)]
                if name == wanted and not makers and not sources:
                    return [(module, None)]
                found += sources
                todo += [part for statement in makers for used in _used(statement) for part in used]
        return found


def _used(tree: ast.AST) -> tuple[set[str], dict[str, set[str]]]:
    """Return the names that a tree uses by themselves, and the attributes of those it uses through
    them."""
    attributes: dict[str, set[str]] = {}
    owners = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
            owners.add(id(node.value))
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in owners
    }, attributes


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module's top level may bind or change."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return set()
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.Expr):  # a call may change whatever it names
        return (
            set()
            if isinstance(statement.value, ast.Constant)
            else _used(statement)[0] | set(_used(statement)[1])
        )
    inner = {
        id(name)
        for node in ast.walk(statement)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
    }
    stored = [
        node for node in ast.walk(statement) if isinstance(node, ast.Name) and id(node) not in inner
    ]
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


PACKAGE = Graph(Path(__file__).parent)
"""The imports of this package."""


@functools.cache
def code_digest() -> str:
    """Return a short digest of all files of the package, by which versions of its code are told
    apart."""
    sha = hashlib.sha256()
    for path in PACKAGE.modules.values():
        sha.update(
            path.relative_to(PACKAGE.root).as_posix().encode() + b"\0" + PACKAGE.read(path) + b"\0"
        )
    return sha.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers may depend on."""
    found = {"Python": platform.python_version()}
    for name in ("numpy", "scipy", "numba", "pandas", "scikit-learn", "statsmodels"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


_EXTRAS = {
    "pandas": "tables",
    "matplotlib": "plots",
    "seaborn": "plots",
    "pyarrow": "parquet",
    "distributed": "cluster",
    "pooch": "book",
    "statsmodels": "book",
}
"""By which extra a module is installed that no plain installation brings."""


def damaged(note: str) -> None:
    """Warn of damage that is mended.

    A build of the book names a file for such notes and prints it, so that no executed notebook
    holds them.
    """
    if place := os.environ.get("LDPKIT_NOTES"):
        with open(place, "a", encoding="utf-8") as notes:
            notes.write(f"{note}\n")
    else:
        warnings.warn(note, stacklevel=4)


def missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error in words that name the extra, if one installs what was not found."""
    extra = _EXTRAS.get(error.name or "")
    words = f"{error.name} is missing: pip install 'ldpkit[{extra}]'"
    return ModuleNotFoundError(words, name=error.name) if extra else error


def identity(func: Callable[..., object]) -> str:
    """Return a digest of a function, of all code it depends on, and of the versions of the
    libraries.

    A function of a file counts with its whole file; a function defined in a
    notebook counts with its own source and with everything of the notebook that
    it uses. A class method of a file counts with its class, which is the one it was
    asked of. Values that a function holds (defaults, enclosed variables) count too.

    Parameters
    ----------
    func : function or class method
        Not a method of an instance, a class or a partial.

    Raises
    ------
    TypeError
        If `func` is neither, or was defined where its source cannot be read.
    """
    import cloudpickle  # here, as little needs it

    owner = func.__self__ if inspect.ismethod(func) and inspect.isclass(func.__self__) else func
    path = getattr(sys.modules.get(getattr(owner, "__module__", None) or ""), "__file__", None)
    if not inspect.isfunction(func) and (owner is func or not path):
        raise TypeError(f"func must be a function to have its results stored, got {func!r}")
    if owner.__module__ in PACKAGE.modules:
        text, folder = f"from {owner.__module__} import {owner.__name__}", None
    elif path:
        text, folder = Path(path).read_text(encoding="utf-8"), Path(path).parent
    else:
        text, folder = "\n".join(_of_notebook(func, set())), Path.cwd()
    held = [
        func.__defaults__,
        func.__kwdefaults__,
        [cell.cell_contents for cell in func.__closure__ or ()],
    ]
    named = [owner.__qualname__, func.__qualname__]
    parts = [
        *named,
        PACKAGE.digest(text, folder),
        cloudpickle.dumps(held),
        sorted(versions().items()),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _of_notebook(func: Callable[..., object], seen: set[str]) -> Iterator[str]:
    """Yield the source of a function and of everything in its notebook that it uses, as one text
    with imports."""
    import cloudpickle

    try:
        source = inspect.cleandoc("\n" + inspect.getsource(func))
    except OSError:
        raise TypeError(
            f"func must be defined in a file or a notebook to have its results stored, got {func!r}"
        ) from None
    bare, attributes = _used(ast.parse(source))
    for name in sorted((bare | set(attributes)) & set(func.__globals__) - seen):
        seen.add(name)
        value = func.__globals__[name]
        if inspect.ismodule(value):
            yield f"import {value.__name__} as {name}"
        elif getattr(value, "__module__", None) == func.__module__ and inspect.isfunction(value):
            yield from _of_notebook(value, seen)
        elif (
            hasattr(value, "__module__")
            and hasattr(value, "__qualname__")
            and value.__module__ != func.__module__
        ):
            yield f"from {value.__module__} import {value.__qualname__.partition('.')[0]} as {name}"
        else:
            yield f"{name} = {hashlib.sha256(cloudpickle.dumps(value)).hexdigest()!r}"
    yield source
