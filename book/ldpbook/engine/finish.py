"""Make a module that a browser can start from one relocatable object of WebAssembly, as LLVM writes it.

A single object keeps its own indices, and in position-independent code an address is an offset from an imported base. Therefore code
stays as it is. The functions to be called get names. Data and table are placed behind the imported bases. Addresses that stand inside
data are listed, because they are only known in the browser.
"""

from typing import NamedTuple

CUSTOM, IMPORT, EXPORT, ELEMENT, CODE, DATA, COUNT = 0, 2, 7, 9, 10, 11, 12  # sections
FUNCTION, DATUM, SECTION = 0, 1, 3  # symbols
UNDEFINED, NAMED = 0x10, 0x40  # flags of symbols
ADDRESS = 5  # a relocation: the address of a symbol, inside data
WITH_ADDEND = {3, 4, 5, 8, 9, 11, 14, 15, 16, 17, 21, 23}
KEPT = {"reloc.CODE": {0, 6, 7, 11, 12}, "reloc.DATA": {ADDRESS}}
"""Relocations of one object that need no change of its code (indices, and offsets from a base), and addresses inside data."""


class Symbol(NamedTuple):
    """A line of an object's table of symbols; `at` is the index of a function, or the segment and the offset of data."""

    kind: int
    name: str
    at: tuple[int, ...]
    flags: int


class Reader:
    """Numbers, names and bytes of a file of WebAssembly, in their order."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value

    def name(self) -> str:
        return self.take(self.number()).decode()

    def limits(self) -> None:
        flags = self.number()
        for _ in range(1 + (flags & 1)):
            self.number()


def number(value: int) -> bytes:
    """Return an unsigned number as WebAssembly writes it."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def sized(data: bytes) -> bytes:
    return number(len(data)) + data


def sections(file: bytes) -> list[tuple[int, str, bytes]]:
    """Return the number, the name if it has one, and the content of every section."""
    if file[:8] != b"\0asm\1\0\0\0":
        raise ValueError("this is no file of WebAssembly, version 1")
    reader, found = Reader(file, 8), list[tuple[int, str, bytes]]()
    while reader.at < len(file):
        kind = reader.take(1)[0]
        inner = Reader(reader.take(reader.number()))
        name = inner.name() if kind == CUSTOM else ""
        found.append((kind, name, inner.data[inner.at :]))
    return found


def imported(content: bytes) -> list[tuple[str, int]]:
    """Return name and kind of every import; all must come from ``env``."""
    reader, found = Reader(content), list[tuple[str, int]]()
    for _ in range(reader.number()):
        module, name, kind = reader.name(), reader.name(), reader.take(1)[0]
        if module != "env":
            raise ValueError(f"the object imports {name} from {module}, which has no address before it runs")
        if kind == 0:
            reader.number()
        elif kind == 3:
            reader.take(2)
        else:
            reader.take(kind == 1)
            reader.limits()
        found.append((name, kind))
    return found


def symbols(content: bytes) -> list[Symbol]:
    reader, found = Reader(content), list[Symbol]()
    reader.number()  # the version
    while reader.at < len(content):
        kind, part = reader.take(1)[0], Reader(reader.take(reader.number()))
        for _ in range(part.number() if kind == 8 else 0):
            what, flags = part.take(1)[0], part.number()
            if what == DATUM:
                name = part.name()
                at = () if flags & UNDEFINED else tuple(part.number() for _ in range(3))[:2]
            else:
                at = (part.number(),)
                name = part.name() if what != SECTION and (not flags & UNDEFINED or flags & NAMED) else ""
            found.append(Symbol(what, name, at, flags))
    return found


def relocations(content: bytes) -> list[tuple[int, int, int, int]]:
    """Return kind, place, symbol and addend of the relocations of one section."""
    reader, found = Reader(content), list[tuple[int, int, int, int]]()
    reader.number()  # the section
    for _ in range(reader.number()):
        kind, place, symbol = reader.take(1)[0], reader.number(), reader.number()
        found.append((kind, place, symbol, reader.number(signed=True) if kind in WITH_ADDEND else 0))
    return found


def segments(content: bytes) -> list[tuple[int, int, bytes]]:
    """Return for each segment of data its offset, its place in the section, and its bytes."""
    reader, found = Reader(content), list[tuple[int, int, bytes]]()
    for _ in range(reader.number()):
        if reader.take(2) != b"\0\x41":
            raise ValueError("a segment of data has no constant offset")
        offset = reader.number(signed=True)
        reader.take(1)
        size = reader.number()
        found.append((offset, reader.at, reader.take(size)))
    return found


def link(file: bytes, wanted: list[str]) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the module that exports the functions `wanted`, and its pointers.

    A pointer is a place in data and the offset of what must stand there, both from ``__memory_base``.
    """
    parts = sections(file)
    named = {name: content for kind, name, content in parts if kind == CUSTOM}
    content = {kind: content for kind, _, content in parts if kind != CUSTOM}
    table, moved = symbols(named["linking"]), {name: relocations(named[name]) for name in KEPT if name in named}
    unknown = {(name, row[0]) for name, rows in moved.items() for row in rows if row[0] not in KEPT[name]}
    if unknown:
        raise ValueError(f"the object has relocations that are unknown here: {sorted(unknown)}")
    own = {s.name: s.at[0] for s in table if s.kind == FUNCTION and not s.flags & UNDEFINED}
    if gone := [name for name in wanted if name not in own]:
        raise ValueError(f"the object does not define {gone}")
    bases = [name for name, kind in imported(content[IMPORT]) if kind == 3]
    exports = number(len(wanted)) + b"".join(sized(name.encode()) + b"\0" + number(own[name]) for name in wanted)

    def behind(base: str) -> bytes:
        return b"\1\0\x23" + number(bases.index(base)) + b"\x0b"  # one segment, at an imported global

    placed = segments(content.get(DATA, b"\0"))
    data = bytearray(max((offset + len(own) for offset, _, own in placed), default=0))
    for offset, _, bytes_ in placed:
        data[offset : offset + len(bytes_)] = bytes_
    pointers = []
    for _, place, symbol, addend in moved.get("reloc.DATA", []):
        at = next(offset + place - start for offset, start, own in placed if start <= place < start + len(own))
        segment, within = table[symbol].at
        pointers.append((at, placed[segment][0] + within + addend))
    content |= {EXPORT: exports} | ({DATA: behind("__memory_base") + sized(bytes(data))} if placed else {})
    if COUNT in content:
        content[COUNT] = number(1)
    if ELEMENT in content:
        reader = Reader(content[ELEMENT])
        if reader.take(3) != b"\1\0\x41":
            raise ValueError("the object has more than one table of functions")
        reader.number(signed=True)
        content[ELEMENT] = behind("__table_base") + content[ELEMENT][reader.at + 1 :]
    order = sorted(content, key=lambda kind: 9.5 if kind == COUNT else kind)
    return b"\0asm\1\0\0\0" + b"".join(bytes([kind]) + sized(content[kind]) for kind in order), pointers
