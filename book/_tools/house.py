"""Draw the rooms of ldpkit and the imports between them, read from the code: ``book/_static/house.svg``.

A room is a module or a folder of modules; it stands one floor above the highest room it imports. An arrow that follows
from others is left out.
"""

import graphlib
import statistics
import textwrap
from pathlib import Path

from ldpkit.depends import PACKAGE

PICTURE = Path(__file__).parents[1] / "_static" / "house.svg"
WIDTH, HIGH, GAP = 1000, 76, 60
HALL = ("__main__",)

House = dict[str, set[str]]
"""The rooms, each with the rooms it imports."""


def rooms() -> House:
    """Read the rooms from the code."""
    found: House = {}
    for module in PACKAGE.modules:
        if "." in module and (room := module.split(".")[1]) not in HALL:
            others = {other.split(".")[1] for other in PACKAGE.direct(module) if "." in other}
            found.setdefault(room, set()).update(others - {room})
    return found


def floors(graph: House) -> dict[str, int]:
    """How high each room stands."""
    level: dict[str, int] = {}
    for room in graphlib.TopologicalSorter(graph).static_order():
        level[room] = 1 + max((level[other] for other in graph[room]), default=-1)
    return level


def needed(graph: House) -> set[tuple[str, str]]:
    """The arrows that do not follow from others."""

    def below(room: str) -> set[str]:
        return {far for other in graph[room] for far in ({other} | below(other))}

    return {(room, other) for room in graph for other in graph[room] if not any(other in below(o) for o in graph[room])}


def inside(room: str) -> list[str]:
    """The modules of a room that is a folder, in lines of text."""
    names = [module.rpartition(".")[2] for module in PACKAGE.modules if module.startswith(f"ldpkit.{room}.")]
    return textwrap.wrap(" ".join(names), 50)


def draw() -> str:
    """The picture as SVG."""
    graph = rooms()
    level = floors(graph)
    top = max(level.values())
    place: dict[str, tuple[float, int, int]] = {}  # left and upper end, width
    for floor in range(top + 1):
        row = sorted(room for room in graph if level[room] == floor)
        if floor:  # a room stands above what it imports
            row.sort(key=lambda room: statistics.mean(place[other][0] for other in graph[room]))
        sizes = [290 if inside(room) else 120 for room in row]
        space = (WIDTH - sum(sizes)) / len(row)
        x = space / 2
        for room, wide in zip(row, sizes):
            place[room] = (x, 20 + (top - floor) * (HIGH + GAP), wide)
            x += wide + space
    height = 40 + (top + 1) * HIGH + top * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="14">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
    ]
    for room, other in sorted(needed(graph)):
        (x, y, wide), (u, v, broad) = place[room], place[other]
        a, b, c, d = x + wide / 2, y + HIGH, u + broad / 2, v
        parts.append(f'<path d="M{a:.0f} {b} C{a:.0f} {b + 40} {c:.0f} {d - 40} {c:.0f} {d}" fill="none" stroke="#555" '
                     'stroke-width="1.2" marker-end="url(#tip)"/>')  # fmt: skip
    for room, (x, y, wide) in sorted(place.items()):
        words = inside(room)
        first = y + HIGH / 2 + 5 - 7 * len(words)
        parts.append(
            f'<rect x="{x:.0f}" y="{y}" width="{wide}" height="{HIGH}" rx="8" fill="{"#d8e7f5" if words else "#eef1f4"}" '
            f'stroke="#33566f"/><text x="{x + wide / 2:.0f}" y="{first:.0f}" text-anchor="middle" font-weight="bold" '
            f'fill="#111">{room}</text>'
        )
        parts += [
            f'<text x="{x + wide / 2:.0f}" y="{first + 16 + 14 * i:.0f}" text-anchor="middle" font-size="11" fill="#333">{line}</text>'
            for i, line in enumerate(words)
        ]
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    PICTURE.write_text(draw())
