"""The lines that show each erratum run as they stand, section by section."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "book" / "errata.md").read_text()
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"^## ", TEXT, flags=re.M)[1:]}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_lines_of_a_section_run(section):
    blocks = re.findall(r"```python\n(.*?)```", SECTIONS[section], flags=re.S)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, section, "exec"), names)
