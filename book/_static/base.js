/* What the scripts of the pages share; it is loaded before them. */
(() => {
  "use strict";
  const { abs, ceil, floor, log10, max } = Math;

  /* An element. A function listens (onclick: ...), true sets an attribute, and false, null and undefined leave it out. */
  function make(tag, attributes = {}, ...inside) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined)
        element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...inside);
    return element;
  }
  const button = (words, press, attributes = {}) =>
    make("button", { type: "button", onclick: press, ...attributes }, words);
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  /* ---- numbers as readers see them ---- */
  const minus = (text) => text.replace("-", "−");
  const grouped = (n) => minus(n.toLocaleString("en"));
  const raised = (whole) => [...String(whole)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
  const extreme = (v) => v !== 0 && (abs(v) < 1e-4 || abs(v) >= 1e7);
  /* A finite number as a power of ten with `n` digits before it. */
  function power(v, n) {
    const [mantissa, exponent] = v.toExponential(n - 1).split("e");
    return `${+mantissa === 1 ? "" : `${minus(`${+mantissa}`)}·`}10${raised(+exponent)}`;
  }
  /* A number with `n` digits, and what stands in place of one. */
  function digits(v, n = 3) {
    if (v === null || Number.isNaN(v)) return "–";
    if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
    return extreme(v) ? power(v, n) : minus(`${+v.toPrecision(n)}`);
  }
  /* A proven lower bound: two decimals, rounded down. */
  const least = (v) => (floor(100 * v + 1e-9) / 100).toFixed(2);
  /* About `count` round numbers from `low` to `high`. */
  function steps(low, high, count) {
    const raw = (high - low) / max(1, count),
      unit = 10 ** floor(log10(raw)),
      step = unit * [1, 2, 5, 10].find((m) => m * unit >= raw * 0.999);
    const first = ceil(low / step - 1e-9),
      many = floor(high / step + 1e-9) - first + 1;
    return Array.from({ length: max(0, many) }, (_, i) => +((first + i) * step).toFixed(12));
  }

  /* ---- the page ---- */
  const dark = () => document.documentElement.dataset.theme === "dark";
  /* Call `draw` when a place has another width, or when the page has the other theme. */
  function resized(place, draw) {
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (place.clientWidth !== width) {
        width = place.clientWidth;
        draw();
      }
    }).observe(place);
  }
  const themed = (draw) =>
    new MutationObserver(draw).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  /* Let the address of the page end with this fragment, or with none. */
  const remember = (fragment) =>
    history.replaceState(null, "", fragment || location.pathname + location.search);

  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, {
    base: {
      make,
      button,
      escaped,
      minus,
      grouped,
      raised,
      extreme,
      power,
      digits,
      least,
      steps,
      dark,
      resized,
      themed,
      remember,
    },
  });
})();
