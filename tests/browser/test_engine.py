"""Pages that run themselves on a plain host, without a server of ours: what they fetch and when, what they show, and what stops
them."""

import gzip
import hashlib
import importlib
import io
import json
import re

import pandas as pd
import pytest
from kernel_calls import check

from browser.conftest import CLASSROOM, HTML, ROOT, serious, serve
from ldpbook import execute
from ldpbook.engine import parts, signatures

PAGE = "book/rad/fig1"
STATE = "document.querySelector('[data-run-state]').dataset.runState"
KERNELS = next((HTML / "_static/engine").glob("kernels.wasm.*")).name
OWN = "document.querySelector('[data-own-python]').closest('section').dataset.runState"
NAMES = [row["file"] for row in json.loads((HTML / "_static/engine/parts.json").read_text())]
IMAGE = "caches.open('ldpkit-engine').then(c => c.keys()).then(k => k.map(r => r.url).find(u => u.includes('image-')) ?? '')"


def ended(page, state=STATE, within=280):
    """Wait for the end of a run; return its state."""
    page.wait_for_function(
        f"!['idle', 'fetching', 'starting', 'running'].includes({state})", timeout=within * 1000
    )
    return page.evaluate(state)


def status(page):
    return page.inner_text("#live-status")


def started(page, address):
    """Open a page and click; what was asked of the host before is kept in `before`."""
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    page.locator("[data-run-here]").wait_for()
    page.before = list(page.asked)
    page.locator("[data-run-here]").click()


def table(page):
    """The table of the first figure of a run."""
    figure = page.locator("[data-run-result]").first
    return pd.read_csv(io.StringIO(figure.get_attribute("data-csv")))


def of_the_book(name=PAGE):
    notebook = json.loads((ROOT / "_build" / "executed" / f"{name}.ipynb").read_text())
    outputs = (o for c in notebook["cells"] if c["cell_type"] == "code" for o in c["outputs"])
    return pd.read_csv(
        io.StringIO(
            next("".join(o["data"]["text/csv"]) for o in outputs if "text/csv" in o.get("data", {}))
        )
    )


def release():
    return json.loads((HTML / "_live" / f"{PAGE}.json").read_text())["release"]


def moved(page):
    """What the first figure says of the points of the run."""
    return page.locator("[data-run-moved]").first.text_content()


def equal(found, wanted):
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.fixture
def engine(page, site):
    """A page on whose engine code can be run: `page.run(code)` returns all that it says."""
    started(page, f"{site}/{PAGE}.html")
    assert ended(page) == "done", status(page)
    page.evaluate("""() => { globalThis.say = async (code) => {
        const said = [], kernel = globalThis.kernel ??= await (async () => {
          const made = new ldpkit.live.Kernel("book", () => {}, () => {});
          await made.start();
          return made;
        })();
        const good = await kernel.run(code, (kind, content) => said.push(content.text ?? JSON.stringify(content)));
        return [good, said.join("")];
    }; }""")
    page.set_default_timeout(500_000)
    page.run = lambda code: page.evaluate("code => say(code)", code)
    return page


def test_a_page_runs_after_a_click_and_again_from_the_image_and_shows_the_books_numbers(page, site):
    started(page, f"{site}/{PAGE}.html")
    assert not any(name in url for url in page.before for name in NAMES)
    assert ended(page) == "done", status(page)
    assert "#run=" in page.locator("#live-status .live-again").get_attribute("href")
    equal(table(page), of_the_book())
    assert (
        "<function" not in page.locator("article").inner_text()
    )  # what matplotlib registers is no output
    assert re.search(r"\b0 of \d+ exact ones differ", moved(page)), moved(page)
    page.evaluate(  # the image is stored when no cell has run for a second
        f"async () => {{ while (!(await {IMAGE})) await new Promise(f => setTimeout(f, 100)); }}"
    )
    weight = "document.querySelector('#live-remove').textContent"
    page.wait_for_function(  # all that is kept is counted
        f"async () => {weight} === `Remove ${{Math.round((await ldpkit.engine.held()) / 1e6)}} MB` && !!(await {IMAGE})"
    )
    steps = []
    page.expose_function("noted", lambda words: steps.append(words))
    page.reload()
    page.asked.clear()
    page.locator("[data-run-here]").click()
    page.evaluate(
        "new MutationObserver(() => noted(document.querySelector('#live-status').textContent))"
        ".observe(document.body, {subtree: true, childList: true, characterData: true})"
    )
    assert ended(page) == "done", status(page)
    equal(table(page), of_the_book())
    assert not any("Loading numpy" in step for step in steps)  # nothing was imported again
    assert not any("Fetching" in step for step in steps)
    assert not any(name in url for url in page.asked for name in NAMES)
    page.evaluate(  # the image is damaged
        f"""async () => {{
            const url = await {IMAGE}, cache = await caches.open('ldpkit-engine'), old = await cache.match(url);
            const bytes = new Uint8Array(await old.arrayBuffer());
            bytes[bytes.length >> 1] ^= 1;
            await cache.put(url, new Response(bytes, {{headers: old.headers}}));
        }}"""
    )
    page.goto(f"{site}/{PAGE}.html#run={release()}&m=7")
    page.reload()
    page.locator("#live-run-all").click()
    assert ended(page) == "done", status(page)
    assert not table(page).equals(of_the_book()) and "m = 7" in status(page)
    assert re.search(r"[1-9]\d* of \d+ exact ones differ", moved(page)), moved(page)
    struck = page.locator("[data-when][data-condition=false]")
    assert struck.count() == 0
    page.goto(f"{site}/{PAGE}.html#run={release()}&epsilon_max=0.6")  # too short for its statements
    page.reload()
    page.locator("#live-run-all").click()
    assert ended(page) == "done", status(page)
    assert (
        struck.count() > 0
        and "epsilon_max = 10.0" in page.locator(".when-remark").first.inner_text()
    )
    assert "m = 7" not in status(
        page
    )  # a link repeats its run, whatever this tab had changed before
    page.locator("#live-remove").click()
    page.locator("#live-remove").wait_for(state="hidden")
    assert page.evaluate("caches.keys()") == []
    assert page.outside == [] and page.errors == []


def test_a_run_is_named_by_the_values_with_which_it_began_and_keeps_the_focus(page, site):
    page.goto(f"{site}/{PAGE}.html")
    for key in ("Tab", "Tab", "Enter", "Tab"):  # the second link of the page leads to the button
        page.keyboard.press(key)
    page.locator("[data-run-here]:focus").press("Enter")
    page.wait_for_function(f"{STATE} === 'running'", timeout=200_000)
    focus = "document.activeElement.textContent"
    assert page.evaluate(focus) == "▶ Run all"  # the button that was pressed is gone
    assert re.search(r"… A run takes about \d+ s\.$", status(page))
    field = page.locator("#live-form [name=m]")
    go = page.get_by_role("button", name="Run all with these values")
    field.fill("7")
    assert go.is_disabled()
    go.press("Enter")  # too early: it is said so, and the focus stays
    assert "when it has ended" in page.inner_text("#live-wait")
    go.press("Tab")  # the way out is beside it
    assert page.evaluate(focus) == "■ Cancel"
    assert ended(page) == "done", status(page)
    said, mine = status(page), page.locator(".tw-mine button")
    assert ": nothing changed. Same code and seeds as in the book, and equal tables." in said
    assert mine.all_inner_texts() == ["your run 1: nothing changed"]
    assert "m=7" not in page.locator("#live-status .live-again").get_attribute("href")
    assert "edited code" not in said and page.inner_text("#live-wait") == ""
    assert "with these values" in page.evaluate(focus)

    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    cell = page.locator("[id^=cell-]:has(.live-run)").last
    cell.locator("button[aria-label^=Edit]").click()
    cell.locator("textarea").press("End")
    cell.locator("textarea").press_sequentially("  # mine")
    go.press("Enter")
    assert ended(page) == "done", status(page)
    said = status(page)
    assert ": m = 7; code of cell" in said and "Same code" not in said
    assert re.search(r"[1-9]\d* of \d+ cells of tables differ from the book’s: ", said)
    assert said.endswith("Copy a link to this run (without edited code)")
    assert "m=7" in page.locator("#live-status .live-again").get_attribute("href")
    assert mine.last.inner_text().startswith("your run 2: m = 7; code of cell")
    assert "with these values" in page.evaluate(focus)
    page.locator("#live-see").press("Enter")
    figure = page.locator("[data-run-result]").first
    assert figure.evaluate("e => document.activeElement.contains(e)") and "m=7" in page.url
    page.locator("#live-status .live-again").press("Enter")  # the run stays
    page.get_by_text("The link to this run is").wait_for()
    assert "#run=" in page.url and figure.is_visible()
    assert page.errors == []


@pytest.mark.parametrize("state", ["before", "after"])
def test_the_bar_shows_all_its_words_and_leaves_most_of_a_phone_to_the_page(page, site, state):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/{PAGE}.html")
    buttons = page.locator("#engine-offer button")
    first, second = (buttons.nth(i).bounding_box() for i in range(2))
    assert second["y"] > first["y"] + first["height"]
    if state == "after":
        buttons.first.click()
        assert ended(page) == "done", status(page)
    else:  # from the section that asks for it
        page.locator("#run-it-yourself button").first.click()
        page.wait_for_function("document.querySelector('#live-status')?.textContent[0] === 'R'")
        assert page.locator(".run-first").count() == 0
    assert page.locator("#live-status").evaluate("e => e.scrollHeight - e.clientHeight") <= 1
    bar = page.locator("#live-bar").bounding_box()
    assert 56 + bar["height"] <= 844 / 4  # and the header
    assert page.locator(".live-paper").first.bounding_box()["height"] >= 24


def test_golden_rows_and_recorded_calls_of_kernels_are_those_of_native_code(engine):
    signatures.kernels()  # the folder of the golden audits is on the path from here on
    code, many = check(importlib.import_module("test_golden").CASES.values())
    good, said = engine.run(code)
    assert good and f"{many} calls; differ: {{}}" in said, said
    source = (ROOT / "tests/ldpkit/test_golden.py").read_text()
    good, said = engine.run(f"""
import json, os, sys, types, warnings
warnings.simplefilter("ignore")
sys.modules["pytest"] = types.ModuleType("pytest")
os.makedirs("/src/tests/ldpkit", exist_ok=True)
open("/src/tests/ldpkit/test_golden.py", "w").write({source!r})
sys.path.insert(0, "/src/tests/ldpkit")
import test_golden
from ldpbook.engine.inside import compiled
compiled.MISSED.clear()
rows = {{name: test_golden.rows(case) for name, case in test_golden.CASES.items()}}
print(json.dumps([rows, sorted(compiled.MISSED)]))
""")
    assert good, said
    rows, missed = json.loads(said)
    stored = json.loads((ROOT / "tests/data/golden_rows.json").read_text())
    assert list(rows) == list(stored) and missed == []
    wrong = [
        (name, key, x, other[key])
        for name in rows
        for one, other in zip(rows[name], stored[name], strict=True)
        for key, x in flat(one).items()
        if x != (y := flat(other)[key])
        and not (isinstance(y, float) and abs(x - y) <= 1e-12 * abs(y))
        for other in [flat(other)]
    ]
    assert wrong == []


def flat(row, at=""):
    """Numbers and names inside a row, by their places."""
    if isinstance(row, dict):
        return {k: v for key, x in row.items() for k, v in flat(x, f"{at}.{key}").items()}
    if isinstance(row, list):
        return {k: v for i, x in enumerate(row) for k, v in flat(x, f"{at}[{i}]").items()}
    return {at: row}


BIG = {  # where the default integers of 32 bits would overflow without a word
    "stats.epsilon_buehler(5_838_000_000, 2_147_483_643, 10**10, 0.05)": ("from ldpkit import stats", float),
    "int(PCKVUE(21, 2.0).encode(np.ones((1, 22), np.int8))[0])": ("from ldpkit.mechanisms import PCKVUE", int),
    "float(stats.binomial_window(10**10, 0.5)[0][0])": ("from ldpkit import stats", float),
    "float(KeyValues(np.arange(200_001), np.full(200_000, 7), np.ones(200_000), 30_000).find(np.full(200_000, 7))[0].sum())": (
        "from ldpkit.mechanisms.keyvalue import KeyValues", float),
}  # fmt: skip


def test_large_numbers_are_those_of_native_code(engine):
    for text, (imports, kind) in BIG.items():
        names = {}
        exec(f"import numpy as np\n{imports}\nfound = {text}", names)
        good, said = engine.run(f"import numpy as np\n{imports}\nprint(repr({text}))")
        assert good and kind(said) == pytest.approx(names["found"], rel=1e-12), (text, said)


def test_a_cell_that_fails_asks_for_too_much_or_prints_html_harms_nothing(engine):
    good, said = engine.run("1 / 0")
    assert not good and "ZeroDivisionError" in said
    for size in (2**27, 2**28):
        good, said = engine.run(f"import numpy as np\nnp.ones({size})")
        assert not good and "asked for more memory" in said
    good, said = engine.run("import subprocess\nsubprocess.run(['ls'])")
    assert not good
    good, said = engine.run("import statsmodels")
    assert not good and "make lab" in said
    good, said = engine.run(
        'import _host\nprint(_host.call(b\'{"kind": "done", "id": 2}\').decode())\nprint(1 + 1)'
    )
    assert good and "no such message" in said and said.endswith("2\n")
    cell = engine.locator("[id^=cell-]").first
    cell.locator("details").evaluate_all("all => all.forEach(d => d.open = true)")
    if (edit := cell.locator("button[aria-label^=Edit]")).is_visible():
        edit.click()
    hostile = "<b>seen</b><script>window.bad = 1</script><img src=x onerror='window.bad = 2'><iframe srcdoc='x'></iframe>"
    box = cell.locator("textarea")
    box.fill(
        f"{box.input_value()}\nfrom IPython.display import HTML, display\ndisplay(HTML({hostile!r}))"
    )
    box.press("Shift+Enter")
    cell.locator(".text_html b").wait_for()
    assert (
        engine.evaluate("window.bad ?? 0") == 0
        and cell.locator(".text_html script, .text_html iframe").count() == 0
    )
    box.fill("raise ValueError('here')")
    engine.locator("#live-run-all").click()
    assert ended(engine) == "failed" and "cells failed: cell" in status(engine)
    assert "ValueError: here" in status(engine) and "The other cells ran" in status(engine)
    failed = re.search(r"cells failed: (cell \d+)", status(engine))[
        1
    ]  # a traceback calls it by the same number
    assert f'File "<{failed}>", line' in cell.locator(".live-error pre").inner_text()
    endless = engine.evaluate("""() => {
        const run = say("while True: pass");
        setTimeout(() => kernel.interrupt(), 3000);
        return run;
    }""")
    assert endless == [False, ""]


@pytest.mark.parametrize(
    "fault, words",
    [("swapped", "is not the part"), ("cut", "is not the part"), ("missing", "answered 404")],
)
def test_a_part_that_is_not_the_books_is_refused_and_nothing_runs(page, site, fault, words):
    data = (HTML / "_static/engine" / NAMES[0]).read_bytes()
    bodies = {"swapped": bytes([data[0] ^ 1]) + data[1:], "cut": data[:-1]}

    def answer(route):
        if fault == "missing":
            route.fulfill(status=404)
        else:
            route.fulfill(body=bodies[fault])

    page.route(f"**/{NAMES[0]}", answer)
    started(page, f"{site}/{PAGE}.html")
    assert ended(page) == "failed" and words in status(page)
    page.unroute(f"**/{NAMES[0]}")
    page.locator("#live-run-all").click()
    assert ended(page) == "done", status(page)


@pytest.mark.parametrize("when", ["fetching", "starting", "running"])
def test_a_run_is_cancelled_in_each_state_and_the_next_one_works(page, site, when):
    if when == "fetching":
        page.route("**/*.part", lambda route: None)  # never answered
    started(page, f"{site}/{PAGE}.html")
    how = "document.querySelector('[data-run-cancel]').click()"
    if when == "running":
        how = "document.querySelector('#live-form input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))"
    page.wait_for_function(  # it comes before the state can change
        f"{STATE} === '{when}' && ({how}, true)", timeout=200_000
    )
    assert ended(page) == "cancelled" and "Cancelled" in status(page)
    page.unroute("**/*.part")
    page.locator("#live-run-all").click()
    assert ended(page) == "done", status(page)


def test_a_link_fills_the_form_and_waits_and_hostile_values_are_refused(page, site):
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(f"{site}/{PAGE}.html#run={release()}&m=7")
    page.wait_for_function(
        "document.querySelector('#live-status')?.textContent.startsWith('Ready')"
    )
    assert (
        page.locator("#live-form [name=m]").input_value() == "7" and page.evaluate(STATE) == "idle"
    )
    page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    page.goto(f"{site}/{PAGE}.html#run=<b>0.1&m=__import__('os')&points=1e99&x=1&seed=2")
    page.wait_for_function(
        "document.querySelector('#live-status')?.textContent.startsWith('Not taken')",
        timeout=100_000,
    )
    said = status(page)
    for words in ("m must be", "points must be", "x is no parameter", "<b>0.1"):
        assert words in said
    assert page.locator("#live-form [name=m]").input_value() == "11"
    assert not any(name in url for url in page.asked for name in NAMES)


def test_two_tabs_at_once_one_of_which_leaves_and_a_full_disk(browser, site):
    """The browser keeps nothing, and both tabs fetch the parts; one that left starts again."""
    context = browser.new_context()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        quota = {"origin": site, "quotaSize": 1_000_000}
        context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", quota)
        started(page, f"{site}/{PAGE}.html")
    first.goto("about:blank")
    first.go_back()
    first.locator("[data-run-here]").wait_for()
    assert ended(second) == "done", status(second)
    equal(table(second), of_the_book())
    kept = second.evaluate(
        "caches.open('ldpkit-engine').then(c => c.keys()).then(k => k.map(r => r.url))"
    )
    assert not any(NAMES[0] in url for url in kept)
    second.close()
    first.locator("[data-run-here]").click()
    assert ended(first) == "done", status(first)
    context.close()


def test_a_lesson_checks_an_answer_and_runs_an_edited_cell(page, site):
    page.goto(f"{site}/book/course/coins.html")
    exercise = page.locator("#course-coins-1")
    exercise.get_by_role("button", name="Run this page first").click()
    assert ended(page) == "done" and page.locator(".run-first").count() == 0
    answer = exercise.locator("details.live-scratch")
    assert answer.locator("summary").bounding_box()["height"] >= 24
    box, check = answer.locator("textarea"), answer.get_by_role("button", name="Check my answer")
    assert check.inner_text() == "✓ Check my answer"
    assert box.evaluate("e => document.activeElement === e")  # where the reader was
    check.click()
    alert = answer.get_by_role("alert")
    assert alert.inner_text() == "Replace each ... first. Nothing was run."
    assert page.evaluate(STATE) == "done"  # of the run before
    box.fill(box.input_value().replace("= ...", "= 0.5"))
    check.click()
    answer.get_by_text("✗ not yet").wait_for(timeout=100_000)
    assert alert.inner_text().startswith("Not yet: the check assert abs(right - told) < 0.002")
    assert alert.inner_text().endswith("< 0.002 fails.") and answer.locator("pre").count() == 0
    assert ": the check assert abs(right - told)" in status(page)
    answer.get_by_role("button", name="Undo").click()
    given = box.input_value().replace("told = ...", "told = 5 / 6")
    box.fill(given.replace("epsilon = ...", "epsilon = np.log(5)"))
    check.click()
    answer.get_by_text("✓ right").wait_for(timeout=100_000)
    assert page.errors == [] and page.outside == []


def test_the_kernels_have_the_pinned_bytes():
    """The pins of other machines say nothing; the build names a machine without one."""
    total = hashlib.sha256(gzip.decompress((HTML / "_static/engine" / KERNELS).read_bytes()))
    pins, machine = json.loads(signatures.PINS.read_text()), signatures.machine()
    if machine not in pins:
        pytest.skip(f"nobody pinned the kernels of Python {machine}")
    assert pins[machine] == total.hexdigest(), "python -m ldpbook signatures"


SPY = """def client(value):
    found = []
    for name in ("js", "pyodide", "urllib.request", "socket"):
        try:
            module = __import__(name, fromlist=["x"])
            found.append(name)
            module.urlopen("http://127.0.0.1/")
            found.append("a connection")
        except Exception:
            pass
    import _host, os
    found.append(_host.call(b'{"kind": "cookie"}').decode())
    found.append(os.listdir("/"))
    print(found)
    raise ValueError("enough")
"""


def test_an_own_client_is_judged_and_finds_nothing_of_the_reader(page, site):
    page.goto(f"{site}/book/explore/own.html")
    page.evaluate("document.cookie = 'secret=1'; localStorage.secret = 1")
    page.locator("[data-own-run]").click()
    assert ended(page, OWN) == "done"
    result = page.locator("[data-own-result]")
    assert "VIOLATION" in result.locator("p:focus").inner_text()  # the reader is led there
    assert "which is called the e-value" in result.locator("dl").inner_text()
    assert "the report is" in result.locator("dl").inner_text()
    box, go = page.locator("[data-own-client]"), page.locator("[data-own-run]")
    values = page.locator("[data-own-python] [name=values]")
    kept = values.input_value()
    values.fill("[0")
    said = page.locator("[data-own-python] [role=status]")
    assert "before this change" in said.inner_text() and "VIOLATION" in result.inner_text()
    values.press("Enter")
    assert "must be a list" in said.inner_text() and result.inner_text() == ""
    values.fill(kept)
    box.fill(SPY)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    go.click()
    assert ended(page, OWN) == "failed"
    printed = page.locator("[data-own-python] pre").inner_text()
    assert (
        "a connection" not in printed
        and "'js'" not in printed
        and "no such message" in printed
        and "['tmp', 'src', 'usr']" in printed
    )
    assert not any(not url.startswith((site, "blob:", "data:", "about:")) for url in page.asked)
    box.fill("def client(value):\n    while True:\n        pass\n")
    stop = page.locator("[data-own-python] [data-run-cancel]")
    assert stop.is_hidden()
    go.press("Enter")
    page.wait_for_function(f"{OWN} === 'running'", timeout=200_000)
    assert go.evaluate("e => document.activeElement === e") and stop.is_visible()
    go.press("Escape")
    assert ended(page, OWN) == "cancelled"
    assert page.locator("[data-own-python] [role=status]:focus").count() == 1
    for text, words in (
        ("x = 1", "must define a function"),
        ("def client(", "SyntaxError"),
        ("def client(value):\n    return bytes(2**30)\n", "MemoryError"),
    ):
        box.fill(text)
        go.click()
        assert ended(page, OWN) == "failed"
        assert words in page.locator("[data-own-python] [role=status]").inner_text()
    box.fill("def client(value, rng):\n    return value\n")  # written for one input, given a list
    go.click()
    assert ended(page, OWN) == "done" and "Every report is the input itself" in result.inner_text()
    box.fill("def client(value):\n    return 9 if value == 1 else 8\n")  # its values are others
    go.click()
    assert ended(page, OWN) == "done" and "No report is one of the inputs" in result.inner_text()
    page.get_by_role("button", name="Back to the example").click()
    assert "before this change" in said.inner_text()
    box.fill("def client(value):\n    return value\n")
    page.reload()  # what was written is still there, and the example can come back
    assert box.input_value().startswith("def client(value):")
    page.get_by_role("button", name="Back to the example").click()
    assert "a slip" in box.input_value()
    page.reload()
    assert "a slip" in box.input_value()
    assert page.outside == []


def test_the_form_of_an_own_client_and_its_result_fit_a_phone(page, site, theme):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site}/book/explore/own.html")
    box, place = page.locator("[data-own-client]"), page.locator("[data-own-python]")
    assert box.bounding_box()["width"] > 300
    assert box.evaluate("e => getComputedStyle(e).whiteSpace").startswith("pre")
    mono = "e => getComputedStyle(e).fontFamily.includes('monospace')"
    assert box.evaluate(mono) and box.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    for one in place.locator("input:visible, button:visible").all():
        assert one.bounding_box()["height"] >= 24
    labels = place.locator("label").evaluate_all(
        "all => all.map(l => l.getBoundingClientRect().bottom <= l.control.getBoundingClientRect().top)"
    )
    assert labels == [True] * 5
    place.locator("[name=values]").fill('["red", "green", "blue"]')
    box.fill("def client(value):\n    return {'field': value, 'second': 'x' * 200}\n")
    page.locator("[data-own-run]").click()
    assert ended(page, OWN) == "done"
    shown = place.locator("[data-own-result]")
    assert "against the others leads" in shown.inner_text() and "'blue'" in shown.inner_text()
    assert "tried" not in shown.inner_text() and shown.locator("table").is_hidden()
    shown.locator("summary").click()
    assert shown.locator("table").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious(page, "[data-own-python]") == []
    top = "getComputedStyle(document.querySelector('#pst-back-to-top')).display"
    assert page.evaluate(top) == "none"  # it would stand over buttons


def test_a_client_that_never_answers_is_ended(page, site):
    page.clock.install()
    page.goto(f"{site}/book/explore/own.html")
    page.locator("[data-own-client]").fill("def client(value):\n    while True:\n        pass\n")
    page.locator("[data-own-run]").click()
    page.wait_for_function(f"{OWN} === 'running'", timeout=280_000)
    page.clock.fast_forward(61_000)
    assert ended(page, OWN) == "failed"
    assert "endless loop" in page.locator("[data-own-python] [role=status]").inner_text()
    assert page.locator("iframe[sandbox=allow-scripts][hidden]").count() == 0  # its frame is gone


def test_the_frame_of_a_client_reaches_neither_network_nor_storage_nor_page(page, site):
    """The worker's own script in place of Python: what JavaScript cannot reach there, no client can."""
    page.goto(f"{site}/book/explore/own.html")
    page.wait_for_function("globalThis.ldpkit?.engine")
    found = page.evaluate("""async () => {
        const tries = `onmessage = async () => {
          const found = {};
          for (const [name, reach] of Object.entries({
            network: () => fetch("${location.origin}/index.html"),
            script: () => importScripts("${location.origin}/_static/base.js"),
            storage: () => indexedDB.open("x"),
            caches: () => caches.open("x"),
            page: () => parent.document,
          })) {
            try { await reach(); found[name] = true; } catch (e) { found[name] = false; }
          }
          found.origin = origin;
          postMessage(found);
        }`;
        const worker = await ldpkit.engine.walled(new Blob([tries], {type: "text/javascript"}));
        return new Promise((done) => { worker.onmessage = (e) => done(e.data); worker.postMessage({}); });
    }""")
    assert found == dict.fromkeys(["network", "script", "storage", "caches", "page"], False) | {
        "origin": "null"
    }


def test_a_file_says_in_one_sentence_that_it_cannot_run(page):
    page.goto((HTML / f"{PAGE}.html").as_uri())
    assert "python -m http.server" in page.locator("#engine-offer").inner_text()
    assert page.locator("[data-run-here]").count() == 0
    page.goto((HTML / "book/explore/own.html").as_uri())
    page.locator("[data-own-run]").click()
    assert ended(page, OWN) == "failed"
    assert "python -m http.server" in page.locator("[data-own-python] [role=status]").inner_text()


def test_a_page_runs_below_a_path_on_plain_http_without_a_cache(browser):
    """A host of another name is no secure context: there are no caches and no sums, and the page still runs."""
    with serve(HTML.parent) as server:
        page = browser.new_page()
        started(page, f"http://{CLASSROOM}:{server.server_address[1]}/html/{PAGE}.html")
        assert not page.evaluate("isSecureContext")
        assert ended(page) == "done", status(page)
        equal(table(page), of_the_book())
        assert all(re.match(rf"(http://{CLASSROOM}:|blob:|data:)", url) for url in page.asked)
        page.close()
        server.shutdown()


def test_a_page_that_cannot_run_says_why(page, site):
    page.goto(f"{site}/book/own_tests.html")
    assert (
        "make lab" in page.locator("#engine-offer").inner_text()
        and page.locator("[data-run-here]").count() == 0
    )


def test_a_book_without_the_engine_says_so_on_its_pages_and_offers_nothing(page, site, tmp_path):
    """A figure, a lesson, and the place for an own client, with what the build tells their scripts then."""
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    without = execute.Project(ROOT, tmp_path)

    def told(route):
        name = re.search(r"/book/(.*)\.html", route.request.url)[1]
        [(key, words)] = parts.offer(without, name).items()
        text = (HTML / "book" / f"{name}.html").read_text()
        route.fulfill(body=re.sub(r'data-engine="[^"]*"', f'{key}="{words}"', text))

    page.route("**/*.html", told)
    for name in ("rad/fig1", "course/coins", "explore/own"):
        page.goto(f"{site}/book/{name}.html#run={release()}&m=7")
        place = "[data-own-python]" if name == "explore/own" else "#engine-offer"
        assert "without the engine" in page.locator(place).inner_text()
        assert page.locator("[data-run-here], [data-own-run]").count() == 0
    assert not any(part in url for url in page.asked for part in NAMES)
    assert page.errors == [] and page.outside == []
