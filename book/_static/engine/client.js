/* A reader's own client in Python, audited by the real auditor in a kernel behind walls (see live/worker.js). */
(() => {
  "use strict";
  const { button, make, grouped } = ldpkit.base,
    { Kernel } = ldpkit.live,
    host = /** @type {HTMLElement} */ (document.querySelector("[data-own-python]")),
    { engine, engineLacks } = /** @type {HTMLElement} */ (
      document.querySelector("script[data-engine], script[data-engine-lacks]")
    ).dataset;
  const SILENT = 60, // seconds without a word, after which the client is ended
    MOST = 20_000; // characters of what a client prints that are shown
  const START = `import numpy as np

def client(values, rng):
    e = np.exp(1)  # epsilon = 1
    keep = e / (e + 3)  # four values
    n = len(values)
    # a slip: the lie may be the truth
    lie = rng.integers(0, 4, n)
    true = rng.random(n) < keep
    sent = np.where(true, values, lie)
    return sent.tolist()
`;

  const state = (word) => {
    host.closest("section").dataset.runState = word;
  };
  /* A control below its label, as those of the explorers. */
  const field = (label, input, more = "") => {
    input.id = `own-python-${input.name}`;
    const box = make(
      "div",
      { class: `ex-control ${more}` },
      make("label", { for: input.id }, label),
      input,
    );
    return { label, input, box };
  };
  const entry = (label, name, value, attributes = {}) =>
    field(
      label,
      make("input", { name, value, type: "text", autocomplete: "off", ...attributes }),
      attributes.type ? "" : "ex-wide",
    );
  const code = make("textarea", {
      name: "code",
      "data-own-client": true,
      rows: 12,
      wrap: "off",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
    }),
    fields = {
      values: entry("Inputs, as a JSON list", "values", "[0, 1, 2, 3]"),
      epsilon: entry("It claims ε =", "epsilon", "1", {
        type: "number",
        min: 0,
        max: 30,
        step: "any",
      }),
      alpha: entry("Probability of error, at most", "alpha", "0.01", {
        type: "number",
        min: 0,
        max: 1,
        step: "any",
      }),
      trials: entry("Reports per input, on average at most", "trials", "20000", {
        type: "number",
        min: 100,
        max: 1e6,
        step: 1,
      }),
    },
    go = button("▶ Audit this client", () => audit(), { class: "ex-button", "data-own-run": true }),
    stop = button("■ Cancel", () => cancel(), {
      class: "ex-button",
      "data-run-cancel": true,
      title: "Escape cancels, too",
      hidden: true,
    }),
    status = make("p", { role: "status", tabindex: "-1" }),
    bar = make("progress", {
      max: 1,
      value: 0,
      hidden: true,
      "aria-label": "Progress of the audit",
    }),
    printed = make("pre", {
      hidden: true,
      tabindex: "0",
      "aria-label": "What your client printed",
    }),
    result = make("div", { "data-own-result": true });
  code.value = START;

  /* What cannot be pressed now keeps the focus. */
  function busy(running) {
    go.setAttribute("aria-disabled", String(running));
    stop.hidden = bar.hidden = !running;
  }

  let kernel, // of the audit in progress
    cancelled,
    edited, // since the audit began
    fault; // what the client raised
  function cancel() {
    cancelled = true;
    kernel.interrupt();
  }

  /* Inputs of the form, or the first that is wrong in words. */
  function given() {
    let values;
    try {
      values = JSON.parse(fields.values.input.value);
    } catch {
      values = null;
    }
    if (!Array.isArray(values) || values.length < 2)
      throw new Error(
        'inputs must be a list of at least two values that JSON can write, such as [0, 1, 2, 3] or ["yes", "no"] with double quotes.',
      );
    const numbers = {};
    for (const name of ["epsilon", "alpha", "trials"]) {
      const { input, label } = fields[name];
      if (!input.value || !input.checkValidity())
        throw new Error(
          `“${label}” must be a number from ${input.min} to ${input.max}, got “${input.value}”.`,
        );
      numbers[name] = Number(input.value);
    }
    return { code: code.value, values, ...numbers, seed: 1 };
  }
  async function copied(place, text) {
    try {
      await navigator.clipboard.writeText(text);
      place.textContent = "Copied";
    } catch {
      place.textContent = "This browser copies nothing here: mark the text"; // no clipboard without https
    }
  }
  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  function finished({ "text/plain": verdict, "application/json": { words, facts } }) {
    const lines = [verdict, ...Object.entries(words).map(([name, said]) => `${name}: ${said}`)],
      copy = button("Copy this verdict", () => copied(copy, lines.join("\n")), {
        class: "ex-button ex-quiet",
      });
    const rows = Object.entries(facts).filter(([, value]) => value !== null && value !== "");
    result.replaceChildren(
      make("p", { tabindex: "-1", "data-tone": facts.violated ? "bad" : "" }, String(verdict)),
      make(
        "dl",
        {},
        ...Object.entries(words).flatMap(([name, said]) => [
          make("dt", {}, name),
          make("dd", {}, String(said)),
        ]),
      ),
      make("p", {}, copy),
      make(
        "details",
        {},
        make("summary", {}, "All fields"),
        make(
          "div",
          { class: "own-facts", role: "region", tabindex: "0", "aria-label": "All fields" },
          make(
            "table",
            { class: "table" },
            make(
              "tbody",
              {},
              ...rows.map(([key, value]) =>
                make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, shown(value))),
              ),
            ),
          ),
        ),
      ),
    );
  }
  /* Whoever waits is led to what the audit came to; whoever edits meanwhile is not. */
  function lead() {
    if (edited) return;
    const place = /** @type {HTMLElement} */ (result.querySelector("p") ?? status);
    place.focus({ preventScroll: true });
    place.scrollIntoView();
  }
  /* The form has changed: nobody is led away from it, and a verdict is about what it was before. */
  function outdated() {
    edited = true;
    if (result.hasChildNodes())
      say("The verdict below is about the client and the values before this change.");
  }
  const say = (words, share = bar.value, tone = "") => {
    status.textContent = words;
    status.dataset.tone = tone;
    bar.value = share;
  };
  function show(kind, content) {
    if (kind === "error") fault = `${content.ename}: ${content.evalue}`;
    else if (kind === "display_data") finished(content.data);
    else if (content.name === "progress") {
      const [n, all, unit] = JSON.parse(content.text);
      say(`${grouped(n)} of at most ${grouped(all)} ${String(unit).slice(0, 40)} …`, n / all);
    } else if (printed.textContent.length < MOST) {
      printed.hidden = false;
      printed.textContent += String(content.text).slice(0, MOST);
    }
  }
  async function audit() {
    if (!stop.hidden) return; // one goes on
    const began = performance.now();
    cancelled = edited = false;
    fault = "";
    result.replaceChildren(); // an earlier verdict is about other values
    try {
      const asked = JSON.stringify(JSON.stringify(given()));
      busy(true);
      printed.textContent = "";
      printed.hidden = true;
      const step = (words, share, word) => {
        say(words, share);
        state(word);
      };
      kernel = new Kernel("book", () => {}, step, { walls: true, silent: SILENT });
      await kernel.start();
      state("running");
      const good = await kernel.run(
        `import json\nfrom ldpbook.engine.inside import judge\njudge.judge(**json.loads(${asked}))`,
        show,
      );
      if (!good) throw new Error(fault || kernel.ended);
      say(`Audited in ${((performance.now() - began) / 1000).toFixed(0)} s.`);
      state("done");
    } catch (error) {
      say(error.message, bar.value, cancelled ? "" : "bad");
      state(cancelled ? "cancelled" : "failed");
    }
    kernel?.disconnect();
    busy(false);
    lead();
  }

  state("idle");
  if (!engine) {
    host.replaceChildren(make("p", {}, engineLacks));
    return;
  }
  busy(false);
  host.addEventListener("keydown", (e) => {
    const { key, target } = e;
    if (key === "Escape" && !stop.hidden) cancel();
    const inField = /** @type {Element} */ (target).matches("input"),
      inCode = target === code && (e.ctrlKey || e.metaKey);
    if (key !== "Enter" || !(inField || inCode)) return;
    e.preventDefault();
    audit();
  });
  const kept = `own-client ${location.pathname}`, // in this tab
    inputs = {
      code,
      ...Object.fromEntries(Object.entries(fields).map(([n, { input }]) => [n, input])),
    },
    example = Object.entries(inputs).map(([name, input]) => [name, input.value]),
    fill = (values) => {
      for (const [name, value] of values) if (name in inputs) inputs[name].value = value;
    },
    again = button(
      "Back to the example",
      () => {
        fill(example);
        outdated();
        again.hidden = true;
        sessionStorage.removeItem(kept);
        code.focus(); // this button goes
      },
      { class: "ex-button ex-quiet", hidden: true },
    );
  try {
    fill(JSON.parse(sessionStorage.getItem(kept)) ?? []);
    again.hidden = !sessionStorage.getItem(kept);
  } catch {
    /* not written here */
  }
  host.addEventListener("input", () => {
    outdated();
    again.hidden = false;
    sessionStorage.setItem(
      kept,
      JSON.stringify(Object.entries(inputs).map(([name, { value }]) => [name, value])),
    );
  });
  const [size, seconds] = engine.split(" ");
  host.className = "explorer";
  host.replaceChildren(
    field("Your client in Python", code, "ex-code").box,
    make("div", { class: "ex-controls" }, ...Object.values(fields).map(({ box }) => box)),
    make("div", { class: "ex-buttons" }, go, stop, again),
    make(
      "p",
      {},
      make(
        "small",
        {},
        `${size} MB once, kept in this browser, then about ${seconds} s. It takes 700 MB of memory.`,
      ),
    ),
    status,
    bar,
    printed,
    result,
  );
})();
