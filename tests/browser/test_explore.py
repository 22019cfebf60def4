"""The explorers of the built book: by keyboard, by address, in both themes, from a file, on a phone,
without scripts."""

import random
import re

import pytest
import yaml

from browser.conftest import HTML, ROOT, serious
from browser.steps import drawn, opened, said

SCRIPTS = (ROOT / "book" / "_static" / "explore").glob("*.js")
EXPLORERS = sorted(path.stem for path in SCRIPTS if ".data" not in path.name)


def pictures(page):
    return page.locator(".ex-plot").evaluate_all("all => all.map(p => p.innerHTML).join()")


FOCUSED = "document.activeElement.closest('.explorer :is(input, select)')?.id ?? ''"
VALUE = "e => e.type === 'checkbox' ? e.checked : e.value"
KEYS = {"checkbox": ["Space"], "range": ["ArrowRight", "ArrowLeft"]}


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_control_works_by_keyboard_and_is_kept_in_the_address(page, site, name):
    explorer = opened(page, f"{site}/book/explore/{name}.html")
    first, reached = pictures(page), []
    explorer.evaluate("e => { e.tabIndex = -1; e.focus(); }")
    for _ in range(20):
        page.keyboard.press("Tab")
        key = page.evaluate(FOCUSED)
        if not key:
            break
        box = page.locator(f"#{key}")
        before = box.evaluate(VALUE)
        for press in KEYS.get(box.get_attribute("type"), ["ArrowDown"]):
            page.keyboard.press(press)
            drawn(page)
            if box.evaluate(VALUE) != before:
                break
        assert box.evaluate(VALUE) != before, key
        assert page.url.endswith(".html") or f"#{name}:" in page.url
        reached.append(key)
    enabled = explorer.locator(":is(input, select):not(:disabled)").count()
    assert len(reached) >= 3 and len(reached) >= enabled
    assert pictures(page) != first
    state, words, address = pictures(page), said(page), page.url
    page.goto("about:blank")
    opened(page, address)
    assert page.locator(".ex-problem").is_hidden()
    assert said(page) == words and pictures(page) == state
    page.get_by_role("button", name="Back to the start").click()
    drawn(page)
    assert pictures(page) == first and "#" not in page.url
    assert page.errors == [] and page.outside == []


ODD = ["", "-1", "0", "1e999", "NaN", "Infinity", "0x10", "9" * 400, "constructor", "__proto__", "toString", "yes", "=", "&",
       "#", "%", "%E0%A4%A", "%00", "💥", "a b", "[1]", "null", "<img src=x onerror=window.owned=1>"]  # fmt: skip


def drawn_addresses(keys, seed, n=80):
    """Addresses of known and unknown names with odd values, drawn from a seed."""
    draw = random.Random(seed)
    for _ in range(n):
        pairs = range(draw.randrange(1, 4))
        said = [f"{draw.choice([*keys, draw.choice(ODD)])}={draw.choice(ODD)}" for _ in pairs]
        yield "&".join(said)


@pytest.mark.parametrize("name", EXPLORERS)
def test_drawn_addresses_break_no_explorer(page, site, name):
    """What is not possible is not taken: controls keep their values, or take what they offer."""
    explorer = opened(page, f"{site}/book/explore/{name}.html")
    fields = explorer.locator(":is(input, select)")
    offered = fields.evaluate_all(
        "all => all.map(e => [e.id.split('-').slice(1).join('-'), e.min || '', e.max || '', e.value, [...(e.options || [])].map(o => o.value)])"
    )
    for asked in drawn_addresses([key for key, *_ in offered], name):
        page.evaluate("hash => { location.hash = hash; }", f"{name}:{asked}")
        drawn(page)
        values = fields.evaluate_all("all => all.map(e => e.value)")
        for (key, low, high, _, choices), value in zip(offered, values, strict=True):
            assert not choices or value in choices, (asked, key)
            assert not low or float(low) <= float(value) <= float(high), (asked, key)
        for words in (said(page), *explorer.locator(".ex-plot").all_inner_texts()):
            assert not re.search(r"\bNaN\b|undefined|function|\[object", words), asked
        assert page.errors == [], asked
    assert page.evaluate("window.owned") is None and page.outside == []


def test_drawn_addresses_break_no_scoreboard(page, site):
    page.goto(f"{site}/book/scoreboard.html", wait_until="load")
    page.wait_for_selector("[data-board][data-state=ready]")
    keys = "q type paper item protocol verdict how kind sort axis page row".split()
    for asked in drawn_addresses(keys, 1):
        page.evaluate("hash => { location.hash = hash; }", f"board:{asked}")
        drawn(page)
        words = page.locator(".board-status").inner_text()
        assert words and not re.search(r"\bNaN\b|undefined", words), asked
        assert page.locator("#board-sort").input_value(), asked
        assert page.errors == [], asked
    page.get_by_role("button", name="Clear all filters").click()
    drawn(page)
    assert "#" not in page.url
    assert page.evaluate("window.owned") is None and page.outside == []


@pytest.mark.parametrize("name", EXPLORERS)
def test_explorers_pass_axe_and_fit_a_phone(page, site, name, theme):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, f"{site}/book/explore/{name}.html")
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for width in (1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        drawn(page)
        plots = page.locator(".ex-plot")
        sizes = plots.evaluate_all("all => all.map(p => [p.scrollWidth, p.clientWidth])")
        assert all(inner <= outer for inner, outer in sizes), (width, sizes)


@pytest.mark.parametrize("width", [390, 800, 1280])
@pytest.mark.parametrize("name", EXPLORERS)
def test_the_verdict_and_on_a_phone_the_plot_stay_whole_while_one_scrolls(page, site, name, width):
    """They stand below the theme's bar, neither covers the other, and room is left for the controls."""
    page.set_viewport_size({"width": width, "height": 844})
    opened(page, f"{site}/book/explore/{name}.html")
    kept = ".ex-verdict, .ex-verdict ~ .ex-plot svg"
    assert page.locator(kept).count() == (1 if width > 991 or name == "own" else 2)
    for down in (60, 120, 240):
        wrong, foot, end = page.evaluate(
            """([kept, down]) => {
                const parts = [...document.querySelectorAll(kept)];
                const explorer = document.querySelector('.explorer');
                scrollTo({top: scrollY + explorer.getBoundingClientRect().top + down, behavior: 'instant'});
                const wrong = parts.flatMap(part => {
                    const {left, top, bottom, width} = part.getBoundingClientRect(), [x, y] = [left + width / 2, (top + bottom) / 2];
                    return [top + 2, y, bottom - 2].filter(at => !part.contains(document.elementFromPoint(x, at)));
                });
                const {left, top, bottom} = document.querySelector('.ex-top').getBoundingClientRect();
                if (!document.elementFromPoint(left + 40, top - 1)?.closest('.bd-header-article')) wrong.push('bar');
                return [wrong, bottom, explorer.getBoundingClientRect().bottom];
            }""",
            [kept, down],
        )
        if end < foot + 60:
            break  # the explorer ends, and takes them along
        assert wrong == [] and foot <= 844 - 250, (down, foot)


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_plot_is_seen_beside_the_controls_and_before_anything_is_pressed(page, site, name):
    page.set_viewport_size({"width": 1280, "height": 900})
    opened(page, f"{site}/book/explore/{name}.html")
    box, controls = (
        page.locator(part).first.bounding_box() for part in (".ex-plot", ".ex-controls")
    )
    assert box["x"] >= controls["x"] + controls["width"] and box["y"] + box["height"] <= 900
    assert page.locator(".ex-plot svg path, .ex-plot svg line, .ex-plot svg rect").count() > 0
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload(wait_until="networkidle")
    opened(page, f"{site}/book/explore/{name}.html")
    box = page.locator(".ex-verdict" if name == "own" else ".ex-plot").first.bounding_box()
    assert box["y"] + box["height"] / 2 <= 844


def test_figures_link_to_explorers_at_a_point_that_exists(page, site):
    notes = yaml.safe_load((ROOT / "book" / "figures.yml").read_text())
    points = {name: said["explore"] for name, said in notes.items() if "explore" in said}
    for name, point in points.items():
        page.goto(f"{site}/book/{name}.html", wait_until="domcontentloaded")
        page.locator(".page-status").get_by_role("link", name="Move a point yourself").click()
        page.wait_for_selector(".explorer[data-state=ready]")
        assert page.url.endswith(f"#{point}") and not page.locator(".ex-problem").is_visible(), name
        for key, value in re.findall(r"(\w+)=([^&]+)", point):
            shown = page.locator(f"#{point.partition(':')[0]}-{key}")
            assert shown.evaluate("e => e.type === 'checkbox' ? e.checked : true"), (
                name,
                key,
                value,
            )
    assert len(points) > 15


@pytest.mark.parametrize("name", EXPLORERS)
def test_explorers_work_from_a_file_and_say_something_without_scripts(page, browser, name):
    """`file://` allows no module and no fetch; the page keeps its state there, too."""
    address = (HTML / "book" / "explore" / f"{name}.html").as_uri()
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    opened(page, address)
    page.locator(".explorer input[type=range]").first.press("End")
    drawn(page)
    assert f"#{name}:" in page.url and said(page)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.errors == []
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(address)
    text = plain.locator(".explorer").inner_text()
    plain.context.close()
    assert "Without scripts" in text and re.search(r"\d", text.partition("Without scripts")[2])


def test_an_address_that_asks_for_the_impossible_is_told_so(page, site):
    opened(page, f"{site}/book/explore/promise.html#promise:epsilon=99&k=5&wrong=1")
    problem = page.locator(".ex-problem").inner_text()
    assert "“Promised ε” must be 0.2 to 5, not 99" in problem
    assert "there is no “wrong” here" in problem
    assert page.locator("#promise-k").input_value() == "5"
    assert page.locator("#promise-epsilon").input_value() == "1"


LABEL = "document.querySelector('#promise-proven svg').getAttribute('aria-label')"
PAIRS = rf"Number({LABEL}.match(/(\d+) pairs/)[1])"


def streamed(page, pairs):
    """Stream until so many pairs were made, then pause."""
    page.get_by_role("button", name="Stream").click()
    page.wait_for_function(f"() => {PAIRS} >= {pairs}")
    page.get_by_role("button", name="Pause").click()
    drawn(page)


def test_the_faulty_release_is_refuted_and_the_honest_client_is_not(page, site):
    """Seed 1, at which the honest client is not refuted; the faulty one leaks 1.68."""
    opened(page, f"{site}/book/explore/promise.html#promise:speed=10000")
    streamed(page, 5000)
    assert page.locator(".ex-verdict").get_attribute("data-tone") == ""
    assert "An honest SUE shows at most 1.00" in said(page)
    page.locator("#promise-released").press("Space")
    drawn(page)
    streamed(page, 5000)
    assert page.locator(".ex-verdict").get_attribute("data-tone") == "bad"
    proven = r"Promise broken: [\d,]+ pairs prove ε > ([\d.]+), and 1 was promised"
    assert 1 <= float(re.search(proven, said(page))[1]) <= 1.68
    page.locator("#promise-protocol").select_option("GRR")
    drawn(page)
    assert page.locator("#promise-released").is_disabled()
    assert not page.locator("#promise-released").is_checked()


def test_the_verdict_turns_red_with_its_words_and_not_before(page, site):
    """Words that change all the time are shown once a second at most; the colour waits for them."""
    opened(page, f"{site}/book/explore/promise.html#promise:released=yes&speed=300")
    wrong, seen = page.evaluate(
        """async () => {
            const verdict = document.querySelector('.ex-verdict'), wrong = [], seen = new Set();
            document.querySelector('.ex-button').click();
            for (let after = 0; after < 20; after += seen.has('bad')) {
                await new Promise(requestAnimationFrame);
                const {tone} = verdict.dataset, broken = verdict.textContent.startsWith('Promise broken');
                seen.add(tone);
                if ((tone === 'bad') !== broken) wrong.push([tone, verdict.textContent]);
            }
            return [wrong, [...seen]];
        }"""
    )
    assert wrong == [] and seen == ["", "bad"]


def test_who_wants_no_motion_sees_new_states_twice_a_second(browser, site):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    opened(page, f"{site}/book/explore/promise.html#promise:speed=1000")
    seen = page.evaluate(
        f"""async () => {{
            let changes = 0;
            new MutationObserver(() => changes++).observe(document.getElementById('promise-proven'), {{childList: true}});
            document.querySelector('.ex-button').click();
            while ({PAIRS} < 1200) await new Promise(requestAnimationFrame);
            return changes;
        }}"""
    )
    context.close()
    assert 1 <= seen <= 6


def test_the_point_of_the_audit_can_be_dragged(page, site):
    opened(page, f"{site}/book/explore/audit.html")
    svg = page.locator("#audit-plane svg")
    box = svg.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.2)
    page.mouse.up()
    drawn(page)
    assert page.locator("#audit-start").input_value() == "free"
    assert "tpr=" in page.url and "fpr=" in page.url
    assert float(page.locator("#audit-tpr").input_value()) > 0.7


def test_clients_in_the_browser_follow_their_laws(page, site):
    """Events among 20,000 real reports with either input, by protocol and attack, beside the exact
    rates: 40 comparisons at 5 standard deviations, false alarms 2.3e-5 (the seed is fixed)."""
    opened(page, f"{site}/book/explore/promise.html")
    found = page.evaluate(
        """() => {
            const all = [];
            for (const [name, protocol] of [...ldpkit.laws.PROTOCOLS.map(p => [p]), ["FaultyUE", "SUE"], ["FaultyUE", "OUE"]]) {
                for (const attack of ["guess", "tight"]) {
                    const m = ldpkit.laws.mechanism(name, 6, 1.3, protocol), next = ldpkit.client.random(7), n = 20000;
                    const exact = ldpkit.rates({mechanism: name, k: 6, epsilon: 1.3, attack, ...(protocol ? {protocol} : {})});
                    for (const [v, rate] of [[2, exact.tpr], [4, exact.fpr]]) {
                        let hits = 0;
                        for (let i = 0; i < n; i++) hits += ldpkit.client.shows(m, ldpkit.client.report(m, v, next), [2, 4], attack, next) ? 1 : 0;
                        all.push([name, attack, v, (hits - n * rate) / Math.sqrt(n * rate * (1 - rate))]);
                    }
                }
            }
            return all;
        }"""
    )
    assert len(found) == 40
    assert [one for one in found if not abs(one[3]) < 5] == []
