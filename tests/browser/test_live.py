"""Live pages in a real browser: what a reader changes is run, shown beside the book's own, and can
be undone."""

import ast
import asyncio
import dataclasses
import json
import re
import signal
import socket
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from chaos import served
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from tornado import httpclient, websocket

from browser.conftest import HTML, ROOT, Server
from browser.steps import FIGURE, PAGE, cells, enter, running, status, unfold, write
from ldpbook.parameters import Parameter

KEPT = "Object.keys(sessionStorage).filter(k => k.startsWith('ldpkit')).length"


def parameters(name=PAGE):
    told = json.loads((HTML / "_live" / f"{name}.json").read_text())
    return {p["name"]: p for p in told["parameters"]}


@pytest.fixture
def ready(page, live):
    return enter(page, live)


def ended(server, kernels):
    """Wait until none of some kernels is left."""
    end = time.monotonic() + 120
    while running(server) & kernels:
        assert time.monotonic() < end, "a kernel did not end"
    return True


def ran(page, code):
    """Run code in that cell."""
    cell = write(page, code)
    cell.locator("textarea").press("Shift+Enter")
    status(page, "Done")
    return cell


def stuck(page):
    """Run what does not end in that cell."""
    cell = write(page, "import time\nprint('waiting', flush=True)\ntime.sleep(600)")
    cell.locator("textarea").press("Shift+Enter")
    cell.locator(".live-stdout").wait_for()


def test_the_link_opens_the_book_and_leaves_the_token_in_the_storage_of_its_tab_alone(page, live):
    page.goto(live.link)
    page.wait_for_function("location.hash === ''")
    page.goto(f"{live.base}/static/{PAGE}.html")
    status(page, "Ready")
    assert live.token not in page.content() and live.token not in page.url
    entries = page.context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
    assert len(entries) >= 2 and not any(live.token in entry["url"] for entry in entries)
    kept = page.evaluate("[...Object.values(localStorage), JSON.stringify(history.state)].join()")
    assert live.token not in kept and page.evaluate("name") == ""
    assert page.evaluate("sessionStorage.getItem('live-token')") == live.token
    assert page.context.cookies() == []
    assert page.outside == [] and page.errors == []


@pytest.mark.parametrize("text", ["{", "[1]", "[[0, 1, 2]]", "null"])
def test_a_page_works_whatever_lies_where_edits_are_kept(ready, text):
    place = f"ldpkit-live-edits:{PAGE}"
    ready.evaluate("([place, text]) => sessionStorage.setItem(place, text)", [place, text])
    ready.reload()
    status(ready, "Ready" if text in ("{", "[1]", "null") else "Your edits of cell 1 belonged")
    assert ready.errors == []


def test_a_changed_parameter_changes_the_figure_beside_the_published_one(ready):
    page = ready
    published = (HTML / "_figures" / f"{FIGURE}.csv").read_text()
    page.get_by_label("k", exact=True).fill("3")
    page.get_by_label("trials", exact=True).fill("2_000")
    assert "k = 3 " in page.locator(".tag_parameters textarea").input_value()
    page.get_by_role("button", name="Run all with these values").click()
    assert "k = 3" in status(page, "Done")
    changed = page.locator(f".live-compare:has(#{FIGURE}) .live-new .live-figure")
    assert changed.get_attribute("data-csv") not in (None, "", published)
    assert changed.locator("img").evaluate("i => i.complete && i.naturalWidth > 100")
    assert page.locator(f".live-published #{FIGURE} .tw-plot svg").is_visible()
    # the same axes hold the run, until it is hidden
    mine = page.locator(f"#{FIGURE} .tw-mine button")
    assert mine.count() == 1 and "k = 3" in mine.inner_text()
    assert page.locator(f"#{FIGURE} .tw-own path[d]").count() >= 1
    mine.click()
    assert mine.get_attribute("aria-pressed") == "false"
    assert page.locator(f"#{FIGURE} .tw-own").count() == 0
    label = page.locator(f".live-compare:has(#{FIGURE}) .live-new .live-label")
    assert "k = 3" in label.inner_text()
    glued = page.locator("article .live-built-number")
    line = "e => getComputedStyle(e).textDecorationLine"
    assert glued.count() and "underline" in glued.first.evaluate(line)
    assert page.outside == [] and page.errors == []

    page.get_by_role("button", name="Reset").click()
    assert page.get_by_label("k", exact=True).input_value() == parameters()["k"]["literal"]
    assert page.locator(".live-new").count() == mine.count() == 0
    assert page.locator(f"#{FIGURE} .tw-plot").is_visible()
    assert "none" in glued.first.evaluate(line)


def test_every_parameter_has_a_labelled_control_with_its_meaning_range_and_paper_value(ready):
    for p in parameters().values():
        control = ready.get_by_label(p["name"], exact=True)
        assert control.input_value() == p["built"]
        help_text = ready.locator(f"#live-p-{p['name']}-help").inner_text()
        assert p["meaning"] in help_text and p["expects"] in help_text
        assert p["paper"][1:] in help_text


@pytest.mark.parametrize("name, bad, good", [
    ("k", "1", "2"), ("trials", "many", "1_000"), ("alpha", "1", "0.5"), ("epsilon", "[1]", "1e-3"),
    ("seed", "-1", "7"),
])  # fmt: skip
def test_a_value_out_of_range_or_of_the_wrong_type_is_refused_at_its_field(ready, name, bad, good):
    control = ready.get_by_label(name, exact=True)
    control.fill(bad)
    assert f"{name} must be" in ready.locator(f"#live-p-{name}-bad").inner_text()
    assert control.get_attribute("aria-invalid") == "true"
    ready.get_by_role("button", name="Run all", exact=False).first.click()
    assert ready.inner_text("#live-status").startswith("Ready")
    control.fill(good)
    assert ready.locator(f"#live-p-{name}-bad").inner_text() == ""
    assert control.get_attribute("aria-invalid") == "false"


SHOWN = r"""
import sys, pandas as pd, matplotlib.pyplot as plt, os, base64
from IPython.display import display, Image
print('first\nold\rnew', end='', flush=True); print(' end'); print('warned', file=sys.stderr)
display(pd.DataFrame({'column': [7]}))
plt.plot([1, 2]); plt.show()
display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))
os.getcwd()
"""


def test_streams_tables_and_pictures_are_shown_and_progress_stays_on_its_line(ready):
    cell = ran(ready, SHOWN)
    assert cell.locator(".live-stdout").inner_text() == "first\nnew end\n"
    assert cell.locator(".live-stderr").inner_text() == "warned\n"
    assert cell.locator(".live-new table td").inner_text() == "7"
    assert cell.locator(".live-figure img").count() == 2
    assert cell.locator(".live-result").inner_text().endswith("/book/ldp_auditor'")
    assert "code of cell" in ready.inner_text("#live-status")


def test_an_error_stops_the_run_and_shows_its_traceback_and_undo_mends_it(ready):
    cell = write(ready, "def half(x):\n    return 1 / x\n\nhalf(0)")
    ready.click("#live-run-all")
    assert "ZeroDivisionError: division by zero" in status(ready, "Stopped")
    assert "half(0)" in cell.locator(".live-error pre").inner_text()
    assert "\x1b" not in cell.locator(".live-error").inner_text()
    cell.get_by_role("button", name="Undo").click()
    cell.locator(".live-run").click()
    status(ready, "Done")
    assert cell.locator(".live-error").count() == 0


def test_cells_that_the_page_hides_run_too_in_their_order(ready):
    ready.get_by_label("k", exact=True).fill("3")
    ready.get_by_label("trials", exact=True).fill("2000")
    shown = ready.eval_on_selector_all("[id^=cell-]", "all => all.map(e => e.id)")
    removed = [cell for cell in cells() if f"cell-{cell['index']}" not in shown]
    assert removed and "=" in removed[0]["source"]
    ready.click("#live-run-all")
    status(ready, "Done")
    assert ready.locator("#live-hidden .live-error").count() == 0


def test_interrupt_ends_a_long_cell_and_restart_forgets_everything(ready):
    stuck(ready)
    assert ready.locator("#live-run-all").is_disabled()
    ready.click("#live-interrupt")
    assert status(ready, "Interrupted") == f"Interrupted at cell {cells()[1]['index'] + 1}."
    ran(ready, "waited = 1")
    ready.click("#live-restart")
    status(ready, "Restarted")
    cell = ran(ready, "print('waited' in globals())")
    assert cell.locator(".live-stdout").inner_text() == "False\n"


def test_a_kernel_that_dies_is_said_so_and_the_next_run_starts_another(ready):
    cell = write(ready, "import os\nos._exit(1)")
    cell.locator("textarea").press("Shift+Enter")
    assert "lost" in status(ready, "The ")
    ran(ready, "print('alive')")
    assert cell.locator(".live-stdout").inner_text() == "alive\n"


def test_leaving_the_page_stops_its_kernel(ready, live):
    before = running(live)
    ran(ready, "1")
    mine = running(live) - before
    assert len(mine) == 1
    ready.goto(f"{live.base}/static/book/intro.html")
    assert ended(live, mine)


def test_a_browser_that_never_opened_the_link_is_told_where_to_get_it(page, live):
    page.goto(f"{live.base}/static/{PAGE}.html")
    said = status(page, "The server does not know this tab")
    assert "open the link that “make lab” printed last" in said
    assert page.locator("#live-run-all").is_disabled()
    assert page.inner_text("#live-badge") == "Not live"


def test_a_link_opened_in_a_new_tab_leads_to_a_page_that_runs(ready):
    link = ready.locator("nav.bd-docs-nav a[href$='fig2.html']").first
    with ready.context.expect_page() as opened:
        told = "{ctrlKey: true, bubbles: true, cancelable: true}"
        link.evaluate(f"a => a.dispatchEvent(new MouseEvent('click', {told}))")
    tab = opened.value
    status(tab, "Ready")
    assert tab.evaluate(KEPT) == 0 and tab.evaluate("window.opener") is None
    unfold(tab)
    tab.locator(".cell:has(.live-run)").first.locator(".live-run").click()
    status(tab, "Done")


@pytest.mark.parametrize("width", [390, 1280])
def test_interrupt_can_be_clicked_wherever_the_page_stands(ready, width):
    ready.set_viewport_size({"width": width, "height": 800})
    stuck(ready)
    hit = """part => {
        window.scrollTo({top: part * (document.documentElement.scrollHeight - innerHeight), behavior: 'instant'});
        const b = document.querySelector('#live-interrupt').getBoundingClientRect();
        const there = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);
        return (there && there.id) || String(there && there.className);
    }"""
    assert [ready.evaluate(hit, part / 8) for part in range(9)] == ["live-interrupt"] * 9
    assert ready.locator("#live-bar").evaluate("b => b.offsetHeight") < 240
    ready.click("#live-interrupt")
    status(ready, "Interrupted")


def test_progress_is_shown_in_the_bar_and_at_the_cell_and_leaves_nothing(ready, tmp_path):
    go_on = tmp_path / "go-on"
    cell = write(ready, "\n".join([
        "import time, pathlib",
        "from ldpkit.progress import Progress",
        "with Progress(3, 'cells', 'three', notebook=True) as bar:",
        "    for i in range(3):",
        f"        while i == 1 and not pathlib.Path({str(go_on)!r}).exists():",
        "            time.sleep(0.01)",
        "        bar.add()",
    ]))  # fmt: skip
    cell.locator("textarea").press("Shift+Enter")
    ready.wait_for_function(
        "document.querySelector('#live-clock').textContent.match(/ s · three: .* [01]\\/3 /)"
    )
    assert "/3 [" in cell.locator(".live-stderr").inner_text()
    assert ready.locator("#live-clock").is_visible()
    go_on.touch()
    status(ready, "Done")
    assert not cell.locator(".live-stderr").is_visible()
    assert not ready.locator("#live-clock").is_visible()


def test_the_time_of_a_run_is_estimated_before_it_starts(ready, live):
    took = r"A run takes about (\d+ s|\d+ min|a second) with the book’s values\.$"
    assert re.search(took, ready.inner_text("#live-status"))
    trials = int(parameters()["trials"]["literal"].replace("_", ""))
    ready.get_by_label("trials", exact=True).fill(str(100 * trials))
    assert ready.inner_text("#live-status").endswith("With your values it takes longer.")
    ready.get_by_label("trials", exact=True).fill(str(trials // 2))
    assert "longer" not in ready.inner_text("#live-status")
    enter(ready, live, "book/rad/fig5")
    ready.get_by_label("faithful", exact=True).check()
    assert ready.inner_text("#live-status").endswith("faithful: some minutes more.")


def test_a_reload_keeps_edits_and_one_click_undoes_them(ready):
    undo = ready.get_by_role("button", name="Undo all edits")
    assert not undo.is_visible()
    index = cells()[1]["index"]
    write(ready, "1 + 1")
    ready.get_by_label("k", exact=True).fill("3")
    ready.reload()
    edited = f"parameters and edits of cell {index + 1}"
    assert f"Your {edited} are kept." in status(ready, "Ready")
    cell = ready.locator(f"#cell-{index}")
    assert cell.locator("textarea").input_value() == "1 + 1"
    assert ready.get_by_label("k", exact=True).input_value() == "3"
    undo.click()
    again = "Ready: change a parameter or edit a cell, then run. All cells are the book’s again."
    status(ready, again)
    assert cell.locator("textarea").input_value() == cells()[1]["source"] and not undo.is_visible()
    assert ready.get_by_label("k", exact=True).input_value() == parameters()["k"]["built"]

    # an edit of code that is no longer the book's is not laid over the new code
    write(ready, "2 + 2")
    other = "sessionStorage[k].replaceAll('import', 'imported')"
    ready.evaluate(f"for (const k of Object.keys(sessionStorage)) sessionStorage[k] = {other}")
    ready.reload()
    status(ready, f"Your edits of cell {index + 1} belonged to another version")
    assert ready.locator(f"#cell-{index} textarea").input_value() != "2 + 2"
    assert ready.evaluate(KEPT) == 0


def field(page, name):
    return page.locator(f".live-field:has(#live-p-{name})")


def parameters_cell(page):
    """The code of the parameters' cell, also where nobody has opened its editor."""
    shown = page.locator(".tag_parameters textarea")
    opened = shown.input_value() if shown.count() else ""
    return opened or page.locator(".tag_parameters pre").text_content()


def test_a_slider_its_line_the_cell_and_the_address_stay_in_step(ready):
    line, slider = ready.get_by_label("k", exact=True), ready.get_by_label("k, as a slider")
    mark = ready.get_by_role("button", name="Set k to 200, the value of the paper")
    assert slider.get_attribute("aria-valuetext") == line.input_value() == "200"
    slider.focus()
    slider.press("ArrowLeft")
    stops = parameters()["k"]["stops"]
    below = stops[stops.index("200") - 1]
    assert line.input_value() == slider.get_attribute("aria-valuetext") == below
    assert f"k = {below}  # domain size" in parameters_cell(ready)
    assert f"?k={below}" in ready.url
    slider.press("Home")
    assert line.input_value() == "2"
    line.fill("160")  # between two stops
    assert slider.get_attribute("aria-valuetext") == "160"
    assert stops[int(slider.input_value())] == "150"
    cell = ready.locator(".tag_parameters textarea")
    cell.fill(cell.input_value().replace("k = 160", "k = 7"))  # from the code to the controls
    assert (line.input_value(), slider.get_attribute("aria-valuetext")) == ("7", "7")
    mark.click()
    assert line.input_value() == "200" and "?" not in ready.url
    assert ready.errors == []


@pytest.mark.parametrize("name, typed, code", [
    ("trials", "1e6", "1_000_000"), ("trials", "10^4", "10_000"), ("trials", "2,500,000", "2_500_000"),
    ("alpha", "10^-3", "1e-3"), ("epsilon", "2e0", "2e0"),
])  # fmt: skip
def test_a_number_may_be_typed_as_people_write_it(ready, name, typed, code):
    control = ready.get_by_label(name, exact=True)
    control.fill(typed)
    assert ready.locator(f"#live-p-{name}-bad").inner_text() == ""
    assert f"{name} = {code}  #" in parameters_cell(ready)
    control.blur()
    assert control.input_value() == code


@pytest.mark.parametrize("typed", ["1.5e0", "1e-3", "1e400", "1,00", "10^", "10^99", "1e6x"])
def test_what_is_no_whole_number_is_refused_in_one_line_and_stays_as_typed(ready, typed):
    control = ready.get_by_label("trials", exact=True)
    control.fill(typed)
    control.blur()
    bad = ready.locator("#live-p-trials-bad")
    assert bad.inner_text() == "trials must be an integer of at least 1."
    assert control.input_value() == typed
    assert f"trials = {parameters()['trials']['built']}  #" in parameters_cell(ready)
    ready.click("#live-reset")
    assert control.input_value() == parameters()["trials"]["literal"] and bad.inner_text() == ""


def test_elements_of_a_list_are_chips_that_leave_come_back_and_join_at_their_place(ready, live):
    page = enter(ready, live, "book/ldp_auditor/fig2")
    row, line = field(page, "k").locator(".live-chips"), page.get_by_label("k", exact=True)
    chip = row.get_by_role("button", name="100", exact=True)
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert line.input_value() == "[25, 50, 150, 200]"
    chip.press("Space")  # the focus stayed on it
    assert line.input_value() == "[25, 50, 100, 150, 200]"
    add = page.get_by_label("Add to k")
    add.fill("6e1")
    add.press("Enter")
    assert line.input_value() == "[25, 50, 60, 100, 150, 200]"
    assert add.input_value() == ""
    add.fill("1")
    add.press("Enter")
    bad = page.locator("#live-p-k-bad")
    assert bad.inner_text() == "k must be a list of integers of at least 2."
    add.fill("")
    line.fill("[25]")
    row.get_by_role("button", name="25", exact=True).click()
    assert bad.inner_text() == "k must be a list of integers of at least 2."
    assert line.input_value() == "[25]"  # a list without elements is none
    cell = page.locator(".tag_parameters textarea")
    cell.fill(cell.input_value().replace("k = [25]", "k = [50, 333]"))
    pressed = row.locator("button[aria-pressed=true]")
    assert pressed.all_inner_texts() == ["50", "333"] and bad.inner_text() == ""
    assert page.errors == []


def test_choices_are_choices_and_a_truth_value_is_a_box_to_tick(ready, live):
    page = enter(ready, live, "book/refinement/fig2")
    control = page.get_by_label("grid", exact=True)
    assert control.evaluate("e => e.tagName") == "SELECT"
    assert control.locator("option").all_inner_texts() == ['"published" (the book’s)', "None"]
    control.select_option("None")
    assert "grid = None  #" in parameters_cell(page)
    cell = page.locator(".tag_parameters textarea")
    cell.fill(cell.input_value().replace("grid = None", "grid = 'published'"))
    assert control.input_value() == '"published"'
    enter(page, live, "book/rad/fig5")
    box = page.get_by_label("faithful", exact=True)
    assert not box.is_checked()
    box.check()
    assert "faithful = True  #" in parameters_cell(page)
    cell = page.locator(".tag_parameters textarea")
    cell.fill(cell.input_value().replace("faithful = True", "faithful = False"))
    assert not box.is_checked()


ANSWER = "p, q, epsilon = 1 / 2, 1 / 6, 3**0 * __import__('math').log(3)"


def test_a_scratch_cell_and_a_solution_of_an_exercise_run_and_neither_changes_the_page(page, live):
    enter(page, live, "book/course/grr")
    scratch = page.locator("#course-grr-1 .live-scratch")
    scratch.locator("summary").click()
    code, button = scratch.locator("textarea"), scratch.locator(".live-run")
    alert, given = scratch.get_by_role("alert"), code.input_value()
    button.click()
    assert alert.inner_text() == "Replace each ... first. Nothing was run."
    code.fill(given.replace("p, q, epsilon = ..., ..., ...", "p, q, epsilon = 0.5, 0.2, 1"))
    button.click()
    said = status(page, "Stopped")
    assert said.startswith("Stopped at the scratch cell of exercise ")
    failed = "the check assert abs(rule.p - p) < 1e-9 and abs(rule.q - q) < 1e-9 fails."
    assert failed in said and alert.inner_text() == f"Not yet: {failed}"
    assert scratch.locator("pre").count() == 0  # no traceback
    code.fill(given.replace("p, q, epsilon = ..., ..., ...", ANSWER))
    button.click()
    assert status(page, "Done").endswith(": all its checks hold.")
    assert alert.count() == 0
    code.fill("6 * 7")
    code.press("Shift+Enter")
    scratch.locator(".live-result").wait_for()
    assert scratch.locator(".live-result").inner_text() == "42"

    solution = page.locator("#course-grr-1 + .solution")
    solution.locator(".toggle-button, summary").first.click()
    solution.get_by_role("button", name="Run this solution").click()
    page.wait_for_function(
        "document.querySelector('#live-status').textContent.match(/^Done.*the solution of exercise/)"
    )
    assert status(page, "Done").endswith(": all its checks hold.")

    cell = page.locator(".cell:has(.live-run)").nth(1)
    cell.locator("button[aria-label^=Edit]").click()
    cell.locator("textarea").fill("k_before = k\nprint(k)")
    cell.locator("textarea").press("Shift+Enter")
    cell.locator(".live-stdout").wait_for()
    code.fill("print(k_before)\nk = 'mine'")  # the page's names are there, its own stay inside
    code.press("Shift+Enter")
    scratch.locator(".live-stdout").wait_for()
    cell.locator("textarea").fill("print(k, '_aside' in globals())")
    cell.locator("textarea").press("Shift+Enter")
    page.wait_for_function("e => e.textContent.includes('False')", arg=cell.element_handle())
    assert cell.locator(".live-stdout").inner_text() == "10 False\n"

    page.reload()
    assert "scratch cell" in status(page, "Ready")
    assert code.is_visible() and code.input_value().endswith("'mine'")
    page.get_by_role("button", name="Undo all edits").click()
    assert "rule = GRR(4, epsilon)" in code.input_value()
    assert page.errors == []


def test_the_address_sets_parameters_runs_nothing_and_survives_a_reload(ready, live):
    ready.goto(f"{live.base}/static/{PAGE}.html?k=25&trials=2e3#fig-ldp-auditor-1")
    assert "This address sets k = 25, trials = 2000" in status(ready, "Ready")
    assert ready.get_by_label("k", exact=True).input_value() == "25"
    assert "trials = 2000  #" in parameters_cell(ready)
    assert ready.locator(".live-new").count() == 0  # nothing ran
    assert ready.url.endswith("?k=25&trials=2000#fig-ldp-auditor-1")
    ready.get_by_label("k", exact=True).fill("30")
    ready.reload()
    status(ready, "Ready")
    assert ready.get_by_label("k", exact=True).input_value() == "30" and "?k=30&" in ready.url
    ready.get_by_role("button", name="Undo all edits").click()
    assert ready.url.endswith(f"{PAGE}.html#fig-ldp-auditor-1")


def test_the_form_judges_every_value_as_the_book_does(ready):
    """Every parameter of the book, what its control offers, and values that fit some and not others."""
    common = ["-1", "0", "1", "2.5", "7", "1e-9", "1e400", "10_000", "[]", "[1]", "[2, 4]", "[2.5]"]
    common += ["'a'", '["a"]', "None", "True", "[True]", "[[1, 2]]", "[None]"]
    asked, wanted, names = [], [], {field.name for field in dataclasses.fields(Parameter)}
    for path in sorted((HTML / "_live").rglob("*.json")):
        for told in json.loads(path.read_text())["parameters"]:
            if told["kind"] == "any":
                continue  # whatever Python reads
            p = Parameter(**{name: told[name] for name in names & told.keys()})
            offered = [f"[{v}]" if p.many else v for v in told["stops"]]
            asked.append([told, [*offered, *common]])
            wanted += [p.problem(ast.literal_eval(v)) is None for v in [*offered, *common]]
    judge = "([p, values]) => values.map(v => ldpkit.live.problem(p, v) === '')"
    found = ready.evaluate(f"all => all.flatMap({judge})", asked)
    assert len(found) > 5000
    told = [f"{p['name']} = {v}" for p, values in asked for v in values]
    assert [t for t, a, b in zip(told, found, wanted, strict=True) if a != b] == []


EVIL = "<img src=x onerror=window.owned=1>"


@pytest.mark.parametrize("name, query, why", [
    (PAGE, {"k": "1"}, "k must be an integer of at least 2."),
    (PAGE, {"k": EVIL}, "k must be an integer of at least 2."),
    (PAGE, {EVIL: "1"}, "<img src=x onerror=window.owned=1> is no parameter of this page."),
    (PAGE, {"k": "__import__('os')"}, "k must be an integer of at least 2."),
    ("book/ldp_auditor/fig2", {"k": "[2, exit()]"}, "k must be a list of integers"),
    ("book/kv_auditor/fig7", {"estimator": '"x"'}, 'estimator must be one of "released"'),
    ("book/kv_auditor/mechanisms", {"file": '"/etc/passwd"'}, "file can be set in the form"),
    ("book/ldp_sgd/fig4", {"images": '"//host/x.npz"'}, "images can be set in the form only."),
    ("book/ldp_sgd/table3", {"cells": "[[1, (lambda: 9)()]]"}, "cells can be set in the form"),
])  # fmt: skip
def test_no_address_can_set_what_the_form_would_refuse_or_run_a_line(page, live, name, query, why):
    page.goto(live.link)
    page.goto(f"{live.base}/static/{name}.html?{urlencode(query)}")
    words = status(page, "Not taken from the address")
    assert words.startswith(f"Not taken from the address of this page: {why}")
    source = next(c["source"] for c in cells(name) if c["parameters"])
    for line in source.splitlines():
        built = parameters(name)[line.partition(" = ")[0]]["built"]
        assert f" = {built}  #" in parameters_cell(page)
    assert page.evaluate("window.owned") is None and page.locator("img[src=x]").count() == 0
    assert page.locator(".live-new").count() == 0 and page.errors == []


def test_jupyterlab_shows_exercises_with_closed_solutions_and_asks_nothing(page, live):
    page.goto(live.link)
    link = page.get_by_role("link", name="Open in JupyterLab")
    # the introduction has no notebook of its own
    assert link.get_attribute("href") == f"/{live.name}/lab/tree/book"
    enter(page, live, "book/ldp_auditor/fig2")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open in JupyterLab").click()
    lab = opened.value
    lab.goto(f"{live.base}/lab/tree/book/ldp_auditor/fig2.ipynb?factory=Notebook&reset")
    exercise = lab.locator(".jp-Notebook details")
    source = json.loads((ROOT / "book/ldp_auditor/fig2.ipynb").read_text())
    text = "".join("".join(c["source"]) for c in source["cells"])
    closed = [text.count(part) for part in ("{solution}", "{dropdown}")]
    exercise.nth(sum(closed) - 1).wait_for(state="attached", timeout=60_000)
    assert exercise.count() == sum(closed) and all(closed)
    assert exercise.evaluate_all("all => all.some(d => d.open)") is False
    shown = lab.locator(".jp-Notebook").inner_text()
    markup = ("{exercise}", "{solution}", ":class: dropdown")
    assert [words for words in markup if words in shown] == []
    assert lab.get_by_text("official Jupyter news").count() == 0

    lab.goto(f"{live.base}/lab")  # typed by hand, in the same browser
    lab.locator("#jp-main-dock-panel").wait_for(timeout=60_000)
    assert page.outside == [] and page.context.cookies() == []


def test_jupyterlab_runs_a_cell_and_downloads_a_notebook_without_a_cookie(page, live):
    page.goto(live.link)
    page.goto(f"{live.base}/lab/tree/{PAGE}.ipynb?factory=Notebook&reset")
    code = page.locator(".jp-Notebook .jp-CodeCell").first
    code.wait_for(timeout=60_000)
    page.wait_for_function(
        "document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'"
    )
    code.locator(".jp-InputPrompt").click()
    # by menus, since keys go to whatever has the focus; what is asked of a kernel that is just being connected is lost
    once = re.compile("^Run Selected Cell and Do Not Advance", re.I)
    done = code.locator(".jp-InputPrompt").filter(has_text=re.compile(r"\[\d+\]"))
    for _ in range(4):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name=once).click()
        try:
            done.wait_for(timeout=60_000)
            break
        except PlaywrightTimeout:
            continue
    assert done.count() == 1
    page.get_by_role("menuitem", name="File", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Download", exact=True).click()
    assert started.value.suggested_filename == "fig1.ipynb"
    assert '"nbformat"' in started.value.path().read_text()
    assert page.context.cookies() == [] and live.token not in page.url


def test_who_goes_on_before_the_server_answered_keeps_the_token(page, live):
    page.route(
        "**/api/live", lambda route: None
    )  # the first page never hears whether its token holds
    page.goto(live.link)
    page.unroute("**/api/live")
    page.goto(f"{live.base}/static/{PAGE}.html")
    status(page, "Ready")
    assert page.evaluate(
        "[sessionStorage['live-token'], 'live-token-offered' in sessionStorage]"
    ) == [live.token, False]


def test_a_tab_whose_token_does_not_hold_takes_that_of_another_tab(page, live):
    other = enter(page.context.new_page(), live)
    enter(page, live)
    other.evaluate("sessionStorage.setItem('live-token', 'old')")
    other.reload()
    status(other, "Ready")
    assert other.evaluate("sessionStorage.getItem('live-token')") == live.token


def test_a_tab_of_an_earlier_start_is_told_where_to_go(page, tmp_path):
    with Server(tmp_path) as first:
        page.goto(first.link)
    with Server(tmp_path, port=first.port):
        page.reload()
        assert "Open the link that `make lab` printed last." in page.inner_text("body")
        assert first.token not in page.content()


def test_a_link_replaces_no_token_that_works(page, live):
    enter(page, live)
    page.goto(f"{live.base}/static/book/intro.html#token=wrong")
    assert page.evaluate("ldpkit.live.token") == live.token and "wrong" not in page.url
    assert page.evaluate("sessionStorage.getItem('live-token')") == live.token
    page.evaluate("sessionStorage.setItem('live-token', 'wrong')")  # of an earlier server
    page.goto(f"{live.base}/static/{PAGE}.html#token={live.token}")
    status(page, "Ready")
    assert page.evaluate("sessionStorage.getItem('live-token')") == live.token
    alone = page.context.browser.new_page()
    alone.goto(f"{live.base}/static/{PAGE}.html#token=wrong")
    status(alone, "The server does not know this tab")
    assert alone.evaluate("sessionStorage.length") == 0
    alone.context.close()


def test_an_idle_kernel_is_culled_and_a_stopped_server_is_said_so(page, tmp_path):
    with Server(tmp_path, "--idle", "10") as server:
        enter(page, server)
        cell = ran(page, "1")
        assert ended(server, running(server))
        cell.locator("textarea").press("Shift+Enter")
        page.wait_for_function(
            "document.querySelector('#live-status').textContent.match(/^(Done|The kernel was"
            " stopped)/)"
        )
        write(page, "import time\ntime.sleep(600)")
        cell.locator("textarea").press("Shift+Enter")
        status(page, "Running")
    assert "make lab" in status(page, "The server does not answer")
    assert page.locator("#live-run-all").is_enabled()
    assert not page.locator("#live-bar[aria-busy]").count()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_session_leaves_no_word_in_the_terminal_but_that_it_ended(page, tmp_path, sent):
    server = Server(tmp_path)
    try:
        idle = enter(page.context.new_page(), server)
        enter(page, server)
        ran(page, "print('ran')")
        page.goto(f"{server.base}/lab/tree/{PAGE}.ipynb")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
        page.goto(f"{server.base}/static/{PAGE}.html")
        status(page, "Ready")
        stuck(page)
    finally:
        server.process.send_signal(sent)
        rest = server.process.stdout.read()
        server.process.wait(30)
    assert rest.split("\n") == ["", "", "Stopped; open pages say so.", ""]
    assert server.log.read_text() == "" and server.process.returncode == 0
    assert "KeyboardInterrupt" not in status(page, "The server does not answer")
    # a reader comes back to a tab that ran nothing
    idle.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    status(idle, "The server does not answer")
    assert idle.inner_text("#live-badge") == "Not live"


def test_a_busy_kernel_ends_with_its_page_and_waits_with_a_page_that_waits(page, tmp_path):
    """A tab that crashed cannot say that it ends; its socket closes, whatever its cell prints."""
    with Server(tmp_path, "--idle", "10") as server:

        async def busy(kernel):
            address = f"{server.near.replace('http', 'ws')}/api/kernels/{kernel}/channels"
            asked = httpclient.HTTPRequest(address, headers=server.key)
            way = await websocket.websocket_connect(asked)
            await way.write_message(served.request("a", "while True:\n    print(1)"))
            while json.loads(await way.read_message())["header"]["msg_type"] != "stream":
                pass
            way.close()

        enter(page, server)
        stuck(page)
        held = running(server)
        made = urllib.request.Request(f"{server.near}/api/kernels", b"{}", server.key)
        left = json.load(urllib.request.urlopen(made))["id"]
        with ThreadPoolExecutor() as beside:  # the browser's own loop runs here
            beside.submit(asyncio.run, busy(left)).result()
        assert ended(server, {left}) and running(server) == held
        assert status(page, "Running")


PRINTS = """
import pathlib
print("first", flush=True)
while not pathlib.Path({!r}).exists():
    pass
for i in range(1000):
    display(i)
"""


def test_the_server_keeps_nothing_for_a_page_that_lost_its_socket(live, tmp_path):
    """No page comes back to its kernel, and a cell may print for ever."""
    go_on = tmp_path / "go-on"

    def told(path="", **more):
        asked = urllib.request.Request(f"{live.near}/api/kernels{path}", headers=live.key, **more)
        return json.load(urllib.request.urlopen(asked))

    async def read(way, until):
        found = []
        while not found or not until(found[-1]):
            found.append(json.loads(await way.read_message()))
        return found

    async def scene(kernel):
        address = f"{live.near.replace('http', 'ws')}/api/kernels/{kernel}/channels?session_id=one"
        asked = httpclient.HTTPRequest(address, headers=live.key)
        way = await websocket.websocket_connect(asked)
        await way.write_message(served.request("a", PRINTS.format(str(go_on))))
        await read(way, lambda message: message["header"]["msg_type"] == "stream")
        way.close()
        while told(f"/{kernel}")["connections"]:
            pass
        go_on.touch()
        while told(f"/{kernel}")["execution_state"] != "idle":
            pass
        way = await websocket.websocket_connect(asked)
        await way.write_message(served.request("b", "1"))
        done = await read(way, lambda message: message["header"]["msg_type"] == "execute_result")
        way.close()
        return [one for one in done if one["parent_header"].get("msg_id") == "a"]

    kernel = told(data=b"{}")["id"]
    with ThreadPoolExecutor() as beside:  # the browser's own loop runs here
        assert beside.submit(asyncio.run, scene(kernel)).result() == []


def test_a_page_may_leave_before_its_kernel_answers(tmp_path):
    with Server(tmp_path) as server:
        made = urllib.request.Request(f"{server.near}/api/kernels", b"{}", server.key)
        kernel = json.load(urllib.request.urlopen(made))["id"]
        ways = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        told = server.key | {"Host": f"127.0.0.1:{server.port}", "Upgrade": "websocket"}
        told |= {"Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        told["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
        for number, way in enumerate(ways):
            place = f"/{server.name}/api/kernels/{kernel}/channels?session_id=page{number}"
            lines = [
                f"GET {place} HTTP/1.1",
                *(f"{name}: {value}" for name, value in told.items()),
                "",
                "",
            ]
            way.sendall("\r\n".join(lines).encode())
        for way in ways[:-1]:
            way.close()
        assert b" 101 " in ways[-1].recv(4096)  # the one that waits is let in
        ways[-1].close()
    assert server.log.read_text() == "" and server.process.returncode == 0
