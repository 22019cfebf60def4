"""Ways that come to the same state of a function are joined, so that a loop need not be unrolled.

A call of a function is determined by the coins before it. Therefore two ways that enter the same
call, and reach the same line of its function with the same local variables, go on alike. This holds
at the beginning of a statement that no ``for``, ``with`` or ``try`` contains, because the
interpreter holds nothing else there. Nothing is joined if code is called that assigns to an
attribute, to an item or to a variable outside its function. A line is not joined either if a
variable holds anything but numbers, texts, tuples, coins that no arithmetic changed, functions,
modules and generators.

Another way may call a function again with the same arguments. Then the ways through this call are
run for themselves, once for all its calls. Each later call then has one way for each value that it
returns, with the probability of the value. So a sampler that tosses one helper's coin in each round
of its loop needs few ways. The function must have no variables of an enclosing one, and its
arguments must hold no coin.

It is assumed that functions change nothing in other ways that the client reads later in the same
call. For example, they must not ``append`` to a global list.
"""

import ast
import dis
import functools
import inspect
import linecache
import os
import random
import types
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .forks import Node, Tree

__all__ = ["Joints", "frozen"]

_PLAIN = (int, float, complex, bool, str, bytes, type(None), Fraction, Decimal)
_RANDOM = (random.Random, random.SystemRandom)
_NUMPY = (np.random.Generator, np.random.RandomState)
_READERS = {"locals", "vars", "eval", "exec", "dir", "_getframe"}  # of all variables
_ENDS = ("JUMP_FORWARD", "JUMP_BACKWARD", "RETURN", "RAISE", "RERAISE")  # nothing follows
_SETS = ("STORE_FAST", "STORE_FAST_STORE_FAST")
_OTHER = (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR
          | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)  # fmt: skip
_LIBRARY, _OURS = os.path.dirname(random.__file__), str(Path(__file__).parents[2]) + os.sep


class Joints:
    """The states that the ways of a tree have reached; a call of it traces a call of a client.

    Attributes
    ----------
    calls : int
        Number of calls of the client's functions since the last coin.
    pure : bool
        Whether no code was called that may keep something elsewhere.
    """

    def __init__(self, tree: "Tree") -> None:
        self.tree, self.pure, self.calls = tree, True, 0
        self.nodes: dict[Any, Node] = {}
        self.entries: dict[Any, tuple[Node, int]] = {}  # where each call was made first

    def __call__(self, frame: types.FrameType, event: str, given: Any) -> Any:
        code = frame.f_code
        library = code.co_filename.startswith(_LIBRARY) and "-packages" not in code.co_filename
        if library or code.co_filename.startswith((_OURS, "<frozen")):
            return None
        self.calls += 1
        self.pure = self.pure and not any(map(functools.partial(_stores, code), _steps(code)))
        lines = _beginnings(code)
        entry = self.tree.node, self.calls, code, len(self.tree.coins)
        if self.pure and not code.co_freevars and not code.co_flags & _OTHER:
            self.enter(frame)

        def line(frame: types.FrameType, event: str, given: Any) -> Any:
            if event == "line" and frame.f_lineno in lines and self.pure:
                self.reach(entry, frame)
            return line

        return line if lines else None

    def enter(self, frame: types.FrameType) -> None:
        """Go one way for each value of a call that was made before with the same arguments.

        If the ways through the call are not known, end this way, and ask for them.
        """
        tree, code, known = self.tree, frame.f_code, list[Any]()
        if tree.seeds or tree.at < len(tree.ahead):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: frame.f_locals[name] for name in names}
        try:
            key = code, *(frozen(one, known) for one in given.values())
        except (TypeError, RecursionError):
            return
        here = tree.node, self.calls
        if known or self.entries.setdefault(key, here) == here:
            return
        if key not in tree.calls:
            placed = [given.pop(name) for name in names[: code.co_argcount]]
            function = types.FunctionType(code, frame.f_globals)
            tree.wanted = key, functools.partial(function, *placed, **given)
            tree.leave()
        call = tree.calls[key]
        if call and call.root.children:
            tree.insert(call)

    def reach(self, entry: tuple[Any, ...], frame: types.FrameType) -> None:
        """End the way if an earlier one has reached the same line in the same state."""
        tree, node = self.tree, self.tree.node
        if tree.seeds or tree.at < len(tree.ahead):
            return
        known: list[Any] = []
        live = _live(frame.f_code)[frame.f_lasti]
        try:
            held = [(name, frozen(one, known))
                    for name, one in sorted(frame.f_locals.items()) if name in live]  # fmt: skip
        except (TypeError, RecursionError):
            return
        coins = [tuple(one) for one in tree.coins[: entry[-1]]]  # which callers may hold
        earlier = self.nodes.setdefault((*entry, frame.f_lineno, *coins, *held), node)
        if earlier is not node:
            node.same = earlier
            tree.leave()


def frozen(one: Any, known: list[Any]) -> Any:
    """Return what two objects share if and only if a client cannot tell them apart.

    The ranges of coins are collected, because two names may hold one coin.
    """
    kind = type(one)
    if kind in _PLAIN:
        return kind, repr(one)
    if kind is tuple:
        return kind, *(frozen(entry, known) for entry in one)
    if kind is types.FunctionType:
        cells = tuple(cell.cell_contents for cell in one.__closure__ or ())
        return one.__code__, frozen((cells, one.__defaults__), known)
    if kind in _RANDOM or (isinstance(one, _NUMPY) and getattr(one, "real", one) is None):
        return kind  # they fork and keep nothing
    if hasattr(kind, "followed"):
        known.append(one.known)
        first = next(i for i, own in enumerate(known) if own is one.known)
        return kind, one.value, *one.known, first
    if isinstance(one, (type, types.ModuleType)) or (
        kind is types.BuiltinFunctionType and isinstance(one.__self__, types.ModuleType)
    ):
        return one
    raise TypeError(kind)


@functools.cache
def _steps(code: types.CodeType) -> list[dis.Instruction]:
    return [one for one in dis.get_instructions(code) if one.opname.startswith(("STORE", "DELETE"))]


def _stores(code: types.CodeType, step: dis.Instruction) -> bool:
    """Return whether an instruction changes anything but a variable of its own function."""
    kind = step.opname.partition("_")[2]
    return kind in ("GLOBAL", "ATTR", "SUBSCR", "SLICE") or (
        kind == "DEREF" and step.argval in code.co_freevars
    )


@functools.cache
def _live(code: types.CodeType) -> dict[int, set[str]]:
    """Return the variables that may be read before they are set, for each instruction."""
    steps, names = [*dis.get_instructions(code)], {*code.co_varnames, *code.co_cellvars}
    names |= {*code.co_freevars}
    every = bool(code.co_exceptiontable or _READERS & {*code.co_names})
    always = names if every else names - {*code.co_varnames} | {*code.co_cellvars}
    live, before = {one.offset: always for one in steps}, None
    while live != before:
        before, after = {**live}, always
        for one in reversed(steps):
            known = set() if one.opname.startswith(_ENDS) else after
            if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
                known = known | live[one.argval]
            if "_FAST" in one.opname:
                own = {*one.argval} if isinstance(one.argval, tuple) else {one.argval}
                known = known - own if one.opname in _SETS else known | own
            live[one.offset] = after = known | always
    return live


@functools.cache
def _tree(file: str) -> list[ast.FunctionDef]:
    try:
        nodes = ast.walk(ast.parse("".join(linecache.getlines(file))))
    except SyntaxError:
        return []
    return [node for node in nodes if isinstance(node, ast.FunctionDef)]


@functools.cache
def _beginnings(code: types.CodeType) -> frozenset[int]:
    """Return the lines of a function at whose beginning the interpreter holds variables only."""
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return frozenset()
    heads: list[tuple[int, int]] = []

    def enter(statements: list[ast.stmt]) -> None:
        for one in statements:
            head: ast.AST = one.test if isinstance(one, (ast.If, ast.While)) else one
            loops = any(isinstance(part, ast.comprehension) for part in ast.walk(head))
            heads.append((one.lineno, 0 if loops else getattr(head, "end_lineno", 0)))
            if isinstance(one, (ast.If, ast.While)):
                enter(one.body)
                enter(one.orelse)

    for node in _tree(code.co_filename):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        if (first, node.name) == (code.co_firstlineno, code.co_name):
            enter(node.body)
    lines = [line for line, _ in heads]
    return frozenset(line for line, end in heads if line == end and lines.count(line) == 1)
