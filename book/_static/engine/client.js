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
  const START = `def client(values, rng):
    keep = 2.718281828459045 / (2.718281828459045 + 3)   # epsilon = 1, four values
    lie = rng.integers(0, 4, len(values))                # a slip: it may be the truth
    return [int(v) if rng.random() < keep else int(l) for v, l in zip(values, lie)]
`;

  const state = (word) => {
    host.closest("section").dataset.runState = word;
  };
  const field = (label, name, value, attributes = {}) => {
    const input = make("input", { name, value, autocomplete: "off", ...attributes });
    return { input, box: make("label", {}, `${label} `, input) };
  };
  const code = make("textarea", {
      "data-own-client": true,
      rows: 10,
      spellcheck: "false",
      autocapitalize: "off",
      class: "live-code",
      "aria-label": "Your client in Python",
    }),
    fields = {
      values: field("inputs, as JSON", "values", "[0, 1, 2, 3]"),
      epsilon: field("it claims ε =", "epsilon", "1", {
        type: "number",
        min: 0,
        max: 30,
        step: "any",
      }),
      alpha: field("wrong with probability at most", "alpha", "0.01", {
        type: "number",
        min: 0,
        max: 1,
        step: "any",
      }),
      trials: field("reports per input at most", "trials", "20000", {
        type: "number",
        min: 100,
        max: 1e6,
        step: 1,
      }),
    },
    go = button("▶ Audit this client", () => audit(), { "data-own-run": true }),
    stop = button("■ Cancel", () => cancel(), { "data-run-cancel": true }),
    status = make("p", { role: "status" }),
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
  stop.disabled = true;

  let kernel, // of the audit in progress
    cancelled,
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
        "inputs must be a list of at least two values that JSON can write, such as [0, 1, 2, 3].",
      );
    const numbers = {};
    for (const name of ["epsilon", "alpha", "trials"]) {
      const { input, box } = fields[name];
      if (!input.value || !input.checkValidity())
        throw new Error(
          `“${box.textContent.trim()}” must be a number from ${input.min} to ${input.max}, got “${input.value}”.`,
        );
      numbers[name] = Number(input.value);
    }
    return { code: code.value, values, ...numbers, seed: 1 };
  }
  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  function finished({ "text/plain": verdict, "application/json": facts }) {
    const rows = Object.entries(facts).filter(
      ([key, value]) => value !== null && value !== "" && key !== "verdict",
    );
    result.replaceChildren(
      make("p", {}, make("strong", {}, String(verdict))),
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
    );
  }
  const say = (words, share = bar.value) => {
    status.textContent = words;
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
    const began = performance.now();
    cancelled = false;
    fault = "";
    try {
      const asked = JSON.stringify(JSON.stringify(given()));
      go.disabled = true;
      stop.disabled = bar.hidden = false;
      printed.textContent = "";
      printed.hidden = true;
      result.replaceChildren();
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
      say(error.message);
      state(cancelled ? "cancelled" : "failed");
    }
    kernel?.disconnect();
    go.disabled = false;
    stop.disabled = bar.hidden = true;
  }

  state("idle");
  if (!engine) {
    host.replaceChildren(make("p", {}, engineLacks));
    return;
  }
  const [size] = engine.split(" ");
  host.replaceChildren(
    code,
    make("p", { class: "own-fields" }, ...Object.values(fields).map(({ box }) => box)),
    make(
      "p",
      {},
      go,
      " ",
      stop,
      ` ${size} MB once, kept in this browser; it takes 700 MB of memory.`,
    ),
    status,
    bar,
    printed,
    result,
  );
})();
