"""The explorer that audits a reader's own client: what it finds, what it does not, and that the code
runs only where and when it may."""

import http.server
import re
import threading

import pytest

from browser.conftest import HTML, Listener
from browser.steps import drawn, opened, said

OWN = "book/explore/own.html"
ENDED = "() => document.querySelector('.ex-buttons button').textContent.includes('Run')"
# rounds within which a fault is refuted, with seed 1: it decides every report; four reports a round
WITHIN = {"lie": 100, "forgets": 50, "type": 70, "number": 40, "noise": 80}


def run(page, code=None):
    """Run what is in the box, or this, to the end; what is said then, and of the code."""
    if code is not None:
        page.locator("#own-code").fill(code)
    page.get_by_role("button", name="Run").click()
    page.wait_for_function(ENDED, timeout=120_000)
    drawn(page)
    problem = page.locator(".ex-problem")
    return said(page), problem.inner_text() if problem.is_visible() else ""


def refuted(page):
    page.wait_for_function("() => document.querySelector('.ex-verdict').dataset.tone === 'bad'")
    return int(re.search(r"Refuted after ([\d,]+) rounds", said(page))[1].replace(",", ""))


@pytest.mark.parametrize("fault", WITHIN)
def test_a_faulty_client_is_refuted_and_what_gives_it_away_is_named(page, site, fault):
    opened(page, f"{site}/{OWN}#own:from={fault}")
    page.get_by_role("button", name="Run").click()
    assert refuted(page) <= WITHIN[fault]
    page.get_by_role("button", name="Stop").click()
    drawn(page)
    words = said(page)
    assert re.search(r"prove ε > [1-9]\.\d\d, and 1 was promised", words)
    shown = {"number": "the last digit of .id is ", "forgets": "the report is "}
    assert f"It shows in this: {shown.get(fault, 'the report')}" in words
    assert page.locator("#own-seen").get_by_text("◂ bet").count() == 2
    assert page.errors == [] and page.outside == []


def test_a_correct_client_at_the_edge_is_not_refuted_and_the_run_ends(page, site):
    """Seed 1. It leaks exactly what it promises, so that one seed of a hundred would refute it."""
    opened(page, f"{site}/{OWN}")
    words, problem = run(page)
    assert words.startswith("No violation found in 50,") and problem == ""
    assert page.locator(".ex-verdict").get_attribute("data-tone") == ""


def test_bets_on_what_was_learned_are_as_rarely_wrong_as_they_say(page, site):
    """400 runs of 400 rounds at three true promises that are spent to the end, alpha = 0.1: more than
    62 of them refuted with probability 1e-4 at most (binomial)."""
    opened(page, f"{site}/{OWN}")
    wrong = page.evaluate(
        """() => [[2, 1], [4, 1], [3, 0.5]].map(([k, epsilon]) => {
            const keep = Math.exp(epsilon) / (Math.exp(epsilon) + k - 1);
            let refuted = 0;
            for (let seed = 1; seed <= 400; seed++) {
                const next = ldpkit.tools.random(seed), bets = new ldpkit.laws.Bets([epsilon], 0.1);
                const learner = new ldpkit.Learner(k, epsilon);
                const client = (v) => next() < keep ? v : (v + 1 + Math.floor(next() * (k - 1))) % k;
                for (let i = 0; i < 400; i++) {
                    bets.add(...learner.add(Array.from({length: k}, (_, v) => String(client(v)))));
                    bets.look();
                }
                refuted += bets.lower > 0;
            }
            return refuted;
        })"""
    )
    assert max(wrong) <= 62


NEVER = "() => document.querySelector('iframe') === null"


def test_code_runs_at_a_press_of_the_button_and_not_from_an_address_or_a_store(page, site):
    code = "for (;;); function report(v) { return v; }"
    stores = "[localStorage, sessionStorage]"
    page.add_init_script(f"for (const s of {stores}) s.setItem('own-code', '{code}')")
    opened(page, f"{site}/{OWN}#own:from=number&code={code}&go=yes")
    problem = page.locator(".ex-problem").inner_text()
    assert "there is no “code” here; there is no “go” here" in problem
    page.evaluate("location.hash = '#own:from=forgets&k=3'")
    page.wait_for_function("() => document.querySelector('#own-k').value === '3'")
    drawn(page)
    assert "value === k - 1" in page.locator("#own-code").input_value()
    assert page.evaluate(NEVER) and page.workers == [] and "press Run" in said(page)
    page.locator("#own-code").fill(code)
    page.locator("#own-epsilon").press("ArrowRight")
    drawn(page)
    assert page.evaluate(NEVER) and page.workers == [] and "code=" not in page.url
    assert page.errors == []


SAID = "and a report is a finite number, a text, true, false, null, or a list or an object of them"


@pytest.mark.parametrize("code, problem", [
    ("function report(value) { for (;;); }", "did not answer for 3 seconds (an endless loop?)"),
    ("for (;;);", "did not answer for 3 seconds (an endless loop?)"),
    ("function report(value) {", "The code cannot be used: SyntaxError: "),
    ("const report = 5;", "holds no function of the name report"),
    ("function report(value) { return valeu; }", "ReferenceError: valeu is not defined"),
    ("function report(value) { throw Object.create(null); }", "Cannot convert object to primitive"),
    ("function report(value) { value + 1; }", f"it gave nothing, {SAID}"),
    ("function report(value) { return {a: [NaN]}; }", f"it gave NaN as “0”, {SAID}"),
    ("function report(value) { return value / 0; }", "NaN|Infinity"),
    ("const a = []; a.push(a); const report = () => a;", "TypeError: Converting circular structure"),
    ("const report = () => 'x'.repeat(3e7);", "has 30000002 characters, and 10000 are the most"),
    ("let x = 1; for (let i = 0; i < 1e5; i++) x = [x]; const report = () => x;", "RangeError: "),
    ("JSON.stringify = () => '{'; const report = () => 1;", "cannot be read: SyntaxError"),
    ("setTimeout(() => { throw 1; }); const report = (value) => 1;", ""),
])  # fmt: skip
def test_code_that_cannot_be_used_is_told_so_and_the_page_lives_on(page, site, code, problem):
    opened(page, f"{site}/{OWN}")
    told = run(page, code)[1]
    assert re.search(problem, told) if "|" in problem else problem in told
    assert "\n" not in told and (len(told) < 260)
    page.errors.clear()  # what the code itself throws is in the console
    page.get_by_role("button", name="Back to the start").click()
    page.locator("#own-from").select_option("number")
    page.get_by_role("button", name="Run").click()
    assert refuted(page) <= WITHIN["number"]
    assert page.locator(".ex-problem").is_hidden() and page.errors == []


def test_code_reaches_no_network_no_store_and_not_the_page(page, site):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as ear:
        ear.told = []
        threading.Thread(target=ear.serve_forever, daemon=True).start()
        opened(page, f"{site}/{OWN}")
        address = f"http://127.0.0.1:{ear.server_address[1]}/"
        tries = [
            f"const x = new XMLHttpRequest(); x.open('GET', '{address}', false); x.send();",
            f"importScripts('{address}');",
            "indexedDB.open('book');",
            "document.title;",
            "parent.document.title;",
        ]
        for code in tries:
            assert "report(" in run(page, f"function report(value) {{ {code} return 1; }}")[1], code
        fetched = f"fetch('{address}').catch(() => {{}}); new WebSocket('{address.replace('http', 'ws')}');"
        once = f"if (!self.done) {{ self.done = 1; {fetched} }}"
        run(page, f"function report(value) {{ {once} return 1; }}")
        ear.shutdown()
    assert ear.told == []


def test_by_keyboard_alone_a_client_is_written_run_and_stopped(page, site):
    opened(page, f"{site}/{OWN}").evaluate("e => { e.tabIndex = -1; e.focus(); }")
    for _ in range(5):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "own-code"
    page.keyboard.press("Control+A")
    page.keyboard.type("const report = (value) => value;")
    page.keyboard.press("Control+Enter")
    assert refuted(page) <= 50
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function(ENDED)
    assert "Promise broken" in said(page)
    page.keyboard.press("Enter")  # the same seed: the same reports and the same end
    assert refuted(page) <= 50
    assert page.errors == []


def test_what_was_written_stays_until_it_is_taken_back(page, site):
    opened(page, f"{site}/{OWN}")
    box, start = page.locator("#own-code"), page.locator("#own-from")
    first = box.input_value()
    box.fill("mine")
    start.select_option("lie")
    drawn(page)
    assert "may be" in start.locator("option:checked").inner_text() and box.input_value() != "mine"
    start.select_option("grr")
    drawn(page)
    assert box.input_value() == "mine"
    page.get_by_role("button", name="Back to the start").click()
    drawn(page)
    assert box.input_value() == first


def test_the_client_that_was_just_chosen_is_the_one_that_runs(page, site):
    """Both happen before the browser draws: what stood in the box before is correct."""
    opened(page, f"{site}/{OWN}")
    page.locator("#own-from").evaluate("""from => {
        from.value = "number";
        from.dispatchEvent(new Event("input"));
        document.querySelector(".ex-buttons button").click();
    }""")
    assert refuted(page) <= WITHIN["number"]


def test_a_client_runs_from_a_file(page):
    opened(page, (HTML / OWN).as_uri() + "#own:from=number")
    page.get_by_role("button", name="Run").click()
    assert refuted(page) <= WITHIN["number"]
    assert page.errors == []
