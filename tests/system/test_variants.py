"""Every page under every change that its parameter cell allows, one at a time, under everything it
suggests to try, and under ten drawn settings. A cell that raises, warns or cannot show what it returns
fails the variant, and so does a sentence that should always hold and does not. Forty, drawn with a
fixed seed, run here; ``python -m ldpbook variants`` runs all, and VARIANTS=2/5 the second fifth."""

import itertools
import json
import os
import random
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from notebooks import NOTEBOOKS, PROJECT, ROOT, cells_of
from pages import failure, shell
from variants import FOUND

from ldpbook import conditions, execute, paper_values, parameters, paths

SHARD, _, SHARDS = os.environ.get("VARIANTS", "").partition("/")
SCALE = yaml.safe_load((Path(__file__).parents[1] / "helpers/variants.yml").read_text())
# more takes longer and runs no other line
LONGEST = {
    "live_trials": 10**4,
    "seconds": 5,
    "trials": 2_000_000,
    "rounds": 200,
    "samples": 300,
    "limit": 10**8,
}


def around(p, value):
    """Numbers for the place of `value`: the ends of the range, or nearly, and one between."""
    low, high, whole = p.low, p.high, p.kind == "integer"
    value = low if value is None else value
    nudge = 1 if whole else 1e-6 * ((high or 1) - (low or 0))
    if high is None:  # no end is stated: further out than what stands there
        high = max(2 * value, low + 1)
    elif p.high_open:
        high -= nudge
    low += nudge * p.low_open
    ends = [low, high, (min(value, high) + low) / 2]
    if whole:
        step = p.step or 1
        return [int(x) // step * step for x in ends]
    return ends


def changes(p, value):
    """Every value by which the test replaces `value` of the parameter `p`."""
    if p.none:
        yield None
    if p.kind == "boolean":
        yield not value
    elif p.choices:
        yield from ([c] for c in p.choices) if p.many else p.choices
    elif p.many and not p.pair:
        some = dict.fromkeys([0, len(value) // 2, len(value) - 1]) if len(value) > 1 else ()
        yield from (value[:at] + value[at + 1 :] for at in some)
        yield from ([value[0]], [value[-1]])
        if p.kind in ("integer", "number"):
            low, high, middle = around(p, max(value))
            yield [low, high]
            yield sorted({*value, middle})
    elif p.kind in ("integer", "number"):
        for at, one in enumerate(value) if p.many else [(0, value)]:
            for new in around(p, one)[: 1 if p.name == "seed" else 3]:
                yield [*value[:at], new, *value[at + 1 :]] if p.many else new


def base(page):
    """The parameters of a page, and the values that they have at the scale of the test."""
    known = parameters.of(json.loads(PROJECT.source(page).read_text()))
    values = {name: parameters.evaluate(p.literal) for name, p in known.items()}
    return known, values | execute.overrides(SCALE, page, known)


def changed(page):
    """Everything that the test puts in the place of one parameter of a page."""
    yield {}
    known, values = base(page)
    for name, p in known.items():
        seen = [values[name]]
        for value in changes(p, values[name]):
            if value not in seen:
                seen.append(value)
                yield {name: value}


def drawn(page):
    """Ten settings of all parameters at once, each of which a reader can choose by the page's controls."""
    draw, (known, values) = random.Random(page), base(page)
    for _ in range(10):
        setting = {}
        for name, p in known.items():
            stops = [parameters.evaluate(stop) for stop in p.control()["stops"]]
            if p.kind == "boolean":
                setting[name] = draw.choice([False, True])
            elif stops and name not in SCALE["*"]:
                some = sorted(draw.sample(range(len(stops)), draw.randint(1, len(stops))))
                setting[name] = [stops[i] for i in some] if p.many else draw.choice(stops)
        if setting:
            yield {name: value for name, value in setting.items() if value != values[name]}


def at_scale(page, values):
    """`values`, and the test's scale of the others; as many reports as there is time for."""
    scale = execute.overrides(SCALE, page, base(page)[0])
    return scale | {name: shortened(value, LONGEST.get(name)) for name, value in values.items()}


def shortened(value, most):
    """A value, or each of several, not above `most`."""
    if most is None or value is None:
        return value
    return [min(one, most) for one in value] if isinstance(value, list) else min(value, most)


def excused(known, values, problem):
    """Whether a page refused `values` in one line because of two parameters that depend."""
    named = re.search(r"ValueError: (\w+)\b[^\n]* must [^\n]*, got ", problem)
    asked = {name for name in values if known[name].pair}
    for a, b in itertools.product(known, values):
        said = re.search(rf"\b{b}\b", known[a].meaning) or re.search(rf"\b{a}\b", known[b].meaning)
        asked |= {a, b} if a != b and said else set()
    return bool(named) and named[1] in asked


def suggested(page):
    """Every item under "Try it": its text, and the runs it asks for."""
    text = "".join(cells_of(page)[-2]["source"]).partition("## Try it\n")[2]
    for item in re.split(r"^\d\. ", text, flags=re.M)[1:]:
        runs = [{}]
        for span in re.findall(r"`([^`]+)`", " ".join(item.split())):
            if re.match(r"\w+ = ", span):
                new = parameters.read(span)
                runs = [*runs, new] if runs[-1].keys() & new else [*runs[:-1], runs[-1] | new]
        yield item, [run for run in runs if run]


def commands():
    """Runs of one page that the book and the README show as commands: page and values."""
    for path in (ROOT / "README.md", ROOT / "Makefile", *(ROOT / "book").rglob("*.md")):
        for page, text in re.findall(r'NB=(\S+) PARAMS="([^"]*)"', path.read_text()):
            yield f"book/{page}", parameters.read(text)


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_what_a_page_suggests_can_be_set(page):
    known, _ = base(page)
    for item, runs in suggested(page):
        assert all(parameters.refuse(known, run) == [] for run in runs), item
        assert runs or not any(f"`{name}`" in item for name in known), f"sets nothing: {item}"


ALL = [(page, values) for page in NOTEBOOKS for values in changed(page)]
TRIED = [(page, run) for page in NOTEBOOKS for _, runs in suggested(page) for run in runs]
ALL += [one for one in TRIED if one not in ALL]
ALL += [command for command in commands() if command not in ALL]
ALL += [one for page in NOTEBOOKS for values in drawn(page) if (one := (page, values)) not in ALL]
DRAW = random.Random(1)
TIMES = pd.read_csv(ROOT / "book" / "ldpbook" / "durations.csv", index_col="page")["seconds"]
QUICK = [page for page in NOTEBOOKS if TIMES.get(page, 0) < 20]  # the others only all together
PAGES = DRAW.sample(QUICK, 20)  # the first run of a page costs most
SOME = DRAW.sample([one for one in ALL if one[0] in PAGES], 40)
EVERY = [
    page
    for page in NOTEBOOKS
    if not SHARDS or NOTEBOOKS.index(page) % int(SHARDS) == int(SHARD) - 1
]
CHOSEN = [one for one in ALL if one[0] in EVERY] if SHARD else [one for one in ALL if one in SOME]


def shown(values):
    text = ",".join(f"{name}={value!r}" for name, value in values.items())
    return text.replace(" ", "") or "as-it-is"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A shell, and a store of finished cells that all variants share and that is not the book's."""
    store, packages = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("packages")
    for path in paths.PACKAGES.iterdir():  # finished cells of a package lie in its folder
        (packages / path.name).mkdir()
        for part in path.iterdir():
            if part.name != ".sweeps":
                (packages / path.name / part.name).symlink_to(part)
    with pytest.MonkeyPatch.context() as patch, shell() as made:
        patch.setattr(paths, "STORE", store)
        patch.setattr(paths, "PACKAGES", packages)
        patch.setattr(os, "cpu_count", lambda: 1)  # the suite itself uses all cores
        patch.setenv("TQDM_DISABLE", "1")
        yield made


@pytest.mark.parametrize(
    "page, values",
    [pytest.param(*one, marks=pytest.mark.xdist_group(one[0])) for one in CHOSEN],
    ids=[f"{page}-{shown(values)}" for page, values in CHOSEN],
)
def test_a_page_runs_with_other_parameters(page, values, here, monkeypatch, tmp_path):
    folder, board = PROJECT.source(page).parent, tmp_path / "board.csv"
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("LDPKIT_SCOREBOARD", str(board))
    known, _ = base(page)
    assert parameters.refuse(known, values) == []
    judged = conditions.judged({"cells": cells_of(page)})
    problem = failure(here, judged["cells"], at_scale(page, values), draw=bool(SHARD))
    assert problem is None or excused(known, values, problem), problem
    verdicts = conditions.shown({"cells": [{"outputs": here.display_pub.outputs}]})
    path = FOUND / f"{page.replace('/', '-')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(runs | {shown(values): None if problem else verdicts}, indent=1))
    assert not [one for one in conditions.of(judged, "always") if not verdicts.get(one, problem)]
    made = here.display_pub.outputs
    tables = "".join(one["data"].get("text/html", "") for one in made)
    assert not re.search(r"\bnan\b", tables), "a table shows a number that is none"
    glued = [one["data"] for one in made if "scrapbook" in one["metadata"]]
    texts = [str(text) for data in glued for text in data.values()]
    assert not [text for text in texts if re.search(r"\b(nan|inf|None)\b|^''$", text)]
    rows = pd.read_csv(board) if board.exists() else pd.DataFrame(columns=paper_values.COLUMNS)
    held = rows[(rows["verdict"] == "differs") & rows["published"].notna()]
    assert held.empty, "a number of the paper is held against cells that it is not about"
