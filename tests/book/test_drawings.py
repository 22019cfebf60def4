"""Diagrams of the book: drawn again they are the same, each is described, and a page shows each of them."""

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "book" / "_static" / "drawings"
DRAWINGS = runpy.run_path(str(FOLDER / "draw.py"))["DRAWINGS"]
SVG = "{http://www.w3.org/2000/svg}"


def test_every_drawing_with_numbers_is_the_one_that_the_script_draws():
    assert len(DRAWINGS) >= 10
    for name, draw in DRAWINGS.items():
        assert draw() == (FOLDER / f"{name}.svg").read_text(), name


def test_every_drawing_has_a_name_and_a_description_and_letters_that_can_be_read():
    for path in FOLDER.glob("*.svg"):
        root = ET.parse(path).getroot()
        names = root.get("aria-labelledby").split()
        parts = [part for part in root if part.tag in (f"{SVG}title", f"{SVG}desc")]
        found = {part.get("id"): part.text for part in parts}
        assert set(names) == set(found) and len(found[names[1]]) > 60
        sizes = re.findall(r"font(?:-size)?: (\d+(?:\.\d+)?)px", path.read_text())
        assert min(map(float, sizes)) >= 11.5
