/* The parts that the explorers are made of: controls with numbers, plots in SVG, a verdict that is read aloud, state in the address.

   A page has <div class="explorer" data-explorer="NAME"> with a text for readers without scripts; explore/NAME.js calls

     ldpkit.explorer("NAME", {controls, views, buttons, start(tools)})

   and `start` returns draw(state), which is called once per frame after a change. Nothing is fetched and nothing is sent. */
(() => {
  "use strict";
  const { log10, max, min, round } = Math,
    { button, digits, escaped, grouped, make, raised, remember, resized, steps } = ldpkit.base;
  const calm = matchMedia("(prefers-reduced-motion: reduce)"),
    narrow = matchMedia("(max-width: 991px)");
  /* The text of a verdict, with the powers of e raised. */
  const spoken = (words) =>
    words
      .split(/\be\^([\d.]*\d)/)
      .flatMap((part, i) => (i % 2 ? ["e", make("sup", {}, part)] : [part]));

  /* ---- controls: {label, kind: "range" | "list" | "choice" | "flag", value, ...}; each is an input with its value beside it ---- */
  const KINDS = {
    range: {
      build: (c) => make("input", { type: "range", min: c.min, max: c.max, step: c.step }),
      get: (input) => +input.value,
      set: (input, value) => {
        input.value = value;
      },
      read: (c, text) =>
        text.trim() !== "" && +text >= c.min && +text <= c.max
          ? min(c.max, +(c.min + c.step * round((+text - c.min) / c.step)).toFixed(10))
          : undefined,
      expects: (c) => `${c.min} to ${c.max}`,
    },
    list: {
      // a slider that stops at the values of a list
      build: (c) => make("input", { type: "range", min: 0, max: c.values.length - 1, step: 1 }),
      get: (input, c) => c.values[+input.value],
      set: (input, value, c) => {
        input.value = c.values.indexOf(value);
      },
      read: (c, text) => c.values.find((v) => String(v) === text),
      expects: (c) => `one of ${c.values.join(", ")}`,
    },
    choice: {
      build: (c) =>
        make(
          "select",
          {},
          ...Object.entries(c.choices).map(([value, words]) => make("option", { value }, words)),
        ),
      get: (input) => input.value,
      set: (input, value) => {
        input.value = value;
      },
      read: (c, text) => (Object.hasOwn(c.choices, text) ? text : undefined),
      expects: (c) => `one of ${Object.keys(c.choices).join(", ")}`,
    },
    flag: {
      build: () => make("input", { type: "checkbox" }),
      get: (input) => input.checked,
      set: (input, value) => {
        input.checked = value;
      },
      read: (_c, text) => (text === "yes" ? true : text === "no" ? false : undefined),
      expects: () => "yes or no",
    },
  };
  const decoded = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  const written = (value) => (value === true ? "yes" : value === false ? "no" : String(value));
  const shown = (control, value) =>
    (control.format || ((v) => (typeof v === "number" && v >= 1000 ? grouped(v) : `${v}`)))(value);

  /* ---- plots ---- */
  /** @param {Axis} axis */
  function ticksOf({ domain: [low, high], log, ticks }, count) {
    if (ticks) return ticks;
    if (log) {
      const powers = [];
      for (let e = Math.floor(log10(low)); e <= log10(high) + 1e-9; e++) powers.push(e);
      const every = max(1, Math.ceil(powers.length / count)),
        few = powers.length < 4;
      return powers
        .filter((e) => (e - powers[0]) % every === 0)
        .flatMap((e) => (few ? [1, 2, 5] : [1]).map((m) => m * 10 ** e))
        .filter((v) => v >= low * 0.9999 && v <= high * 1.0001);
    }
    return steps(low, high, count);
  }
  /* One figure: axes = {x: {domain, title, log, ticks, format}, y: ...}; marks are drawn in the order of the calls. */
  class Plot {
    /**
     * @param {HTMLElement} place
     * @param {Axes} axes
     */
    constructor(
      place,
      { label, height = 300, x, y, left = 56, bottom = 44, right = 26, top = 12 },
    ) {
      this.place = place;
      this.x = x;
      this.y = y;
      this.left = left;
      this.top = top;
      this.marks = [];
      this.words = [];
      this.width = max(240, place.clientWidth);
      this.height = typeof height === "function" ? height(this.width) : height;
      if (place.closest(".ex-top"))
        this.height = min(this.height, max(200, 0.42 * document.documentElement.clientHeight)); // room for the controls
      this.w = this.width - left - right;
      this.h = this.height - top - bottom;
      this.label = label;
      const across = ticksOf(x, max(2, Math.floor(this.w / 70))),
        up = ticksOf(y, max(2, Math.floor(this.h / 45)));
      const parts = [];
      for (const v of up)
        parts.push(
          `<line class="ex-grid" x1="${left}" x2="${left + this.w}" y1="${this.Y(v)}" y2="${this.Y(v)}"/><text x="${left - 7}" y="${this.Y(v) + 4}" text-anchor="end">${escaped((y.format || digits)(v))}</text>`,
        );
      for (const v of across)
        parts.push(
          `<line class="ex-grid" x1="${this.X(v)}" x2="${this.X(v)}" y1="${top}" y2="${top + this.h}"/><text x="${this.X(v)}" y="${top + this.h + 17}" text-anchor="middle">${escaped((x.format || digits)(v))}</text>`,
        );
      if (x.title)
        parts.push(
          `<text x="${left + this.w / 2}" y="${this.height - 6}" text-anchor="middle">${escaped(x.title)}</text>`,
        );
      if (y.title)
        parts.push(
          `<text transform="translate(14 ${top + this.h / 2}) rotate(-90)" text-anchor="middle">${escaped(y.title)}</text>`,
        );
      this.axes = parts.join("");
    }
    /** @param {Axis} axis */
    scale({ domain: [low, high], log }, v) {
      return log
        ? (log10(max(v, 1e-300)) - log10(low)) / (log10(high) - log10(low))
        : (v - low) / (high - low);
    }
    X(v) {
      return +(this.left + this.w * this.scale(this.x, v)).toFixed(2);
    }
    Y(v) {
      return +(this.top + this.h * (1 - this.scale(this.y, v))).toFixed(2);
    }
    path(points) {
      return points
        .filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b))
        .map(([a, b], i) => `${i ? "L" : "M"}${this.X(a)} ${this.Y(b)}`)
        .join("");
    }
    line(points, kind) {
      this.marks.push(`<path class="ex-line ${kind}" d="${this.path(points)}"/>`);
      return this;
    }
    area(points, kind) {
      this.marks.push(`<path class="ex-area ${kind}" d="${this.path(points)}Z"/>`);
      return this;
    }
    box([x1, x2], [y1, y2], kind) {
      return this.area(
        [
          [x1, y1],
          [x2, y1],
          [x2, y2],
          [x1, y2],
        ],
        kind,
      );
    }
    dot(x, y, kind, r = 5) {
      if (Number.isFinite(x) && Number.isFinite(y))
        this.marks.push(
          `<circle class="ex-dot ${kind}" cx="${this.X(x)}" cy="${this.Y(y)}" r="${r}"/>`,
        );
      return this;
    }
    /* Words at a point, kept inside the plot and off other words. */
    text(x, y, words, kind = "", dx = 6, dy = -6) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) return this;
      const wide = 7.2 * words.length,
        at = max(this.left + 2, min(this.X(x) + dx, this.left + this.w - wide - 2));
      let down = min(max(this.Y(y) + dy, this.top + 12), this.top + this.h - 4);
      const meets = ([a, b, w]) => Math.abs(b - down) < 14 && a < at + wide && at < a + w;
      for (let i = 0; i < 6 && this.words.some(meets); i++) down += 15;
      this.words.push([at, down, wide]);
      this.marks.push(
        `<text class="ex-words ${kind}" x="${at.toFixed(1)}" y="${down.toFixed(1)}">${escaped(words)}</text>`,
      );
      return this;
    }
    /* Names beside points, [x, y, name, kind]: each at the first place around its point where it meets no point, no other name and no edge. */
    names(points) {
      const dots = points.map(([x, y]) => [this.X(x), this.Y(y)]),
        taken = [];
      points.forEach(([, , name, kind], i) => {
        const [cx, cy] = dots[i],
          wide = 8.5 * name.length,
          places = [];
        for (const far of [9, 18, 28, 40, 54]) {
          for (const [dx, dy] of [
            [0.85, -0.85],
            [1, 0],
            [-0.85, 0.85],
            [0, -1],
            [0, 1],
            [-1, 0],
            [0.85, 0.85],
            [-0.85, -0.85],
          ]) {
            const left = cx + dx * far - (wide * (1 - Math.sign(dx))) / 2,
              top = cy + dy * far - 7 * (1 - Math.sign(dy));
            places.push({ far, left, right: left + wide, top, bottom: top + 14 });
          }
        }
        const inside = (p) =>
          p.left >= this.left &&
          p.right <= this.left + this.w &&
          p.top >= this.top &&
          p.bottom <= this.top + this.h;
        const free = (p) =>
          inside(p) &&
          !dots.some(
            ([a, b]) => a > p.left - 7 && a < p.right + 7 && b > p.top - 7 && b < p.bottom + 7,
          ) &&
          !taken.some(
            (t) => p.left < t.right && t.left < p.right && p.top < t.bottom && t.top < p.bottom,
          );
        const place = places.find(free) || places[0],
          middle = (place.left + place.right) / 2;
        taken.push(place);
        if (place.far > 18)
          this.marks.push(
            `<line class="ex-line faint" x1="${cx}" y1="${cy}" x2="${middle.toFixed(1)}" y2="${place.top > cy ? place.top : place.bottom}"/>`,
          );
        this.marks.push(
          `<text class="ex-words ${kind}" text-anchor="middle" x="${middle.toFixed(1)}" y="${(place.top + 11.5).toFixed(1)}">${escaped(name)}</text>`,
        );
      });
      return this;
    }
    end() {
      const clip = `${this.place.id}-clip`;
      this.place.innerHTML = `<svg role="img" aria-label="${escaped(this.label)}" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"><clipPath id="${clip}"><rect x="${this.left - 6}" y="${this.top - 6}" width="${this.w + 12}" height="${this.h + 12}"/></clipPath>${this.axes}<g clip-path="url(#${clip})">${this.marks.join("")}</g></svg>`;
      return this;
    }
    /* Where a pointer is, in the plot's own numbers. */
    at(event) {
      const frame = this.place.firstElementChild.getBoundingClientRect(),
        part = (v, low, size) => min(1, max(0, (v - low) / size));
      const back = ({ domain: [low, high] }, share) => low + share * (high - low);
      return [
        back(this.x, part(event.clientX - frame.left, this.left, this.w)),
        back(this.y, 1 - part(event.clientY - frame.top, this.top, this.h)),
      ];
    }
  }
  function table(place, head, rows) {
    for (const [name, value] of [
      ["role", "region"],
      ["tabindex", "0"],
      ["aria-label", "The same as a table"],
    ])
      place.setAttribute(name, value);
    place.replaceChildren(
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, ...head.map((h) => make("th", { scope: "col" }, h)))),
        make(
          "tbody",
          {},
          ...rows.map(([first, ...rest]) =>
            make(
              "tr",
              {},
              make("th", { scope: "row" }, first),
              ...rest.map((c) => make("td", {}, c)),
            ),
          ),
        ),
      ),
    );
  }

  /* What bets against a claim win and prove; drawn in the views "wealth" and "proven". */
  const powers = (v) => `10${raised(v)}`;
  class Wealth {
    constructor(bets, claim) {
      this.bets = bets;
      this.claim = claim;
      this.path = [[0, 0, 0]]; // pairs, wealth as a power of ten, what is proven
      this.next = 1;
      this.broken = 0;
    }
    /* To be called after every bet; it looks often enough: an eye on every bet would change little. */
    follow() {
      const { bets, claim, path } = this,
        n = bets.pairs;
      if (n < this.next) return;
      this.next = max(n + 1, Math.ceil(n * 1.01));
      bets.look();
      path.push([n, bets.log(bets.claims.indexOf(claim)) / Math.LN10, bets.lower]);
      if (!this.broken && bets.lower >= claim) this.broken = n;
    }
    draw(plot, unit, limit = 0) {
      const {
          bets: { pairs: n, lower },
          claim,
          path,
        } = this,
        wide = [0, max(100, n * 1.02)],
        kind = this.broken ? "bad" : "a";
      const across = {
        domain: wide,
        title: unit,
        format: (v) => (v >= 1e4 ? `${v / 1000}k` : `${v}`),
      };
      const logs = path.map((p) => p[1]),
        low = min(-1.2, ...logs),
        high = max(2.6, ...logs) * 1.05,
        every = max(1, Math.ceil((high - low) / 6));
      const ticks = Array.from({ length: 60 }, (_, i) => (i - 20) * every).filter(
        (v) => v >= low && v <= high,
      );
      plot("wealth", {
        label: `Wealth after ${n} ${unit}: ${digits(10 ** logs[logs.length - 1])}`,
        height: 210,
        x: across,
        y: { domain: [low, high], ticks, format: powers },
      })
        .line(
          [
            [0, 2],
            [wide[1], 2],
          ],
          "claim",
        )
        .line(
          path.map((p) => [p[0], p[1]]),
          kind,
        )
        .text(wide[1], 2, "100: refuted", "", 0, 16)
        .end();
      const top = max(claim * 1.3, lower * 1.1, limit < claim * 2.5 ? limit * 1.05 : 0);
      plot("proven", {
        label: `Proven after ${n} ${unit}: ε above ${digits(lower)}; promised ${claim}`,
        height: 210,
        x: across,
        y: { domain: [0, top], title: "ε" },
      })
        .line(
          [
            [0, claim],
            [wide[1], claim],
          ],
          "claim",
        )
        .line(
          path.map((p) => [p[0], p[2]]),
          kind,
        )
        .text(wide[1], claim, "promised", "", 0, 16)
        .end();
    }
  }
  /* Numbers in (0, 1) that follow from a seed: a counter through a mixer, twice. */
  function mixed(h) {
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return (h ^ (h >>> 16)) >>> 0;
  }
  function random(seed) {
    let count = mixed(seed + 0x9e3779b9);
    return () => {
      count = (count + 0x9e3779b9) | 0;
      return (mixed(mixed(count) ^ 0x2545f491 ^ count) + 0.5) / 2 ** 32;
    };
  }

  /* ---- an explorer ---- */
  const registered = new Map();
  function explorer(name, plan) {
    registered.set(name, plan);
    document
      .querySelectorAll(`[data-explorer="${name}"]:not([data-state])`)
      .forEach((host) => begin(host, name, plan));
  }
  function begin(host, name, plan) {
    host.dataset.state = "starting";
    const prefix = `#${name}:`,
      state = {},
      inputs = {},
      outputs = {};
    const verdict = make("p", { class: "ex-verdict", role: "status" }),
      problem = make("p", { class: "ex-problem", role: "alert", hidden: "" });
    const panel = make("div", { class: "ex-controls" });
    for (const [key, control] of Object.entries(plan.controls)) {
      const kind = KINDS[control.kind],
        id = `${name}-${key}`,
        input = kind.build(control);
      input.id = id;
      if (control.note) input.setAttribute("aria-describedby", `${id}-note`);
      inputs[key] = input;
      const box = make(
        "div",
        { class: `ex-control ex-${control.kind}` },
        make("label", { for: id }, control.label),
      );
      if (control.kind === "range" || control.kind === "list")
        outputs[key] = make("output", { for: id, "aria-hidden": "true" });
      box.append(...(outputs[key] ? [outputs[key]] : []), input);
      if (control.note) box.append(make("small", { id: `${id}-note` }, control.note));
      panel.append(box);
      input.addEventListener("input", () => change({ [key]: kind.get(input, control) }));
    }
    const bar = make("div", { class: "ex-buttons" }),
      buttons = {},
      views = {},
      places = make("div", { class: "ex-views" });
    for (const [key, words] of Object.entries(plan.buttons || {}))
      buttons[key] = button(words, null, { class: "ex-button" });
    const restart = () => change({ ...defaults });
    buttons.again = button("Back to the start", restart, { class: "ex-button ex-quiet" });
    bar.append(...Object.values(buttons));
    for (const [key, view] of Object.entries(plan.views)) {
      views[key] = make("div", { id: `${name}-${key}`, class: "ex-plot" });
      places.append(
        make(
          "figure",
          { class: `ex-view ${view.wide ? "ex-wide" : ""}` },
          views[key],
          make("figcaption", {}, view.caption),
        ),
      );
    }
    const top = make("div", { class: "ex-top" }, verdict, problem); // stays in sight
    host.replaceChildren(top, panel, bar, places);

    const defaults = Object.fromEntries(
      Object.entries(plan.controls).map(([key, control]) => [key, control.value]),
    );
    for (const [, key, text] of (host.dataset.start || "").matchAll(/([^&=]+)=([^&]+)/g)) {
      // a page may start it elsewhere
      const value = KINDS[plan.controls[key].kind].read(plan.controls[key], text);
      if (value === undefined)
        throw new RangeError(
          `data-start: ${key} must be ${KINDS[plan.controls[key].kind].expects(plan.controls[key])}, got ${text}`,
        );
      defaults[key] = value;
    }
    if (plan.settle) Object.assign(defaults, plan.settle({ ...defaults }, defaults, inputs));
    let waiting = false,
      draw = null;
    function show() {
      for (const [key, control] of Object.entries(plan.controls)) {
        const words = shown(control, state[key]);
        KINDS[control.kind].set(inputs[key], state[key], control);
        if (outputs[key]) {
          outputs[key].value = words;
          inputs[key].setAttribute("aria-valuetext", words);
        }
      }
    }
    function redraw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        const begun = performance.now();
        draw({ ...state });
        host.dataset.ms = (performance.now() - begun).toFixed(1);
        host.dataset.state = "ready";
      });
    }
    function change(changes, keep = true) {
      Object.assign(state, changes);
      if (plan.settle) Object.assign(state, plan.settle({ ...state }, changes, inputs));
      show();
      if (keep) {
        const derived = plan.derived ? plan.derived(state) : [],
          changed = Object.keys(defaults).filter(
            (key) => state[key] !== defaults[key] && !derived.includes(key),
          );
        remember(
          changed.length
            ? prefix +
                changed.map((key) => `${key}=${encodeURIComponent(written(state[key]))}`).join("&")
            : "",
        );
        tools.warn();
      }
      redraw();
    }
    /* What the address says; what it cannot say is named, not guessed. */
    function restore() {
      const found = {},
        wrong = [];
      if (location.hash.startsWith(prefix)) {
        for (const part of location.hash.slice(prefix.length).split("&")) {
          const [key, text = ""] = part.split("=").map(decoded),
            control = Object.hasOwn(plan.controls, key) && plan.controls[key];
          const value = control && KINDS[control.kind].read(control, text);
          if (!control) wrong.push(`there is no “${key}” here`);
          else if (value === undefined)
            wrong.push(
              `“${control.label}” must be ${KINDS[control.kind].expects(control)}, not ${text || "nothing"}`,
            );
          else found[key] = value;
        }
      }
      tools.warn(
        wrong.length
          ? `The address asks for what is not possible: ${wrong.join("; ")}. The rest is as it says.`
          : "",
      );
      Object.assign(state, defaults);
      change(Object.keys(found).length ? found : defaults, false);
    }
    let said = "",
      timer = 0;
    const tools = {
      host,
      views,
      buttons,
      state,
      change,
      redraw,
      calm,
      plot: (view, axes) => new Plot(views[view], axes),
      table: (view, head, rows) => table(views[view], head, rows),
      /* One line about what is not possible; nothing takes it away. */
      warn(words = "") {
        problem.hidden = !words;
        problem.textContent = words;
      },
      /* The verdict: `tone` is "good", "bad" or nothing. Something that changes all the time is read aloud once a second at most. */
      say(words, tone = "", often = false) {
        said = words;
        if (often && timer && tone === verdict.dataset.tone) return; // a new tone never stands beside old words
        clearTimeout(timer);
        verdict.dataset.tone = tone;
        verdict.replaceChildren(...spoken(said));
        timer = often
          ? setTimeout(() => {
              timer = 0;
              verdict.replaceChildren(...spoken(said));
            }, 1000)
          : 0;
      },
    };
    draw = plan.start(tools);
    /* On a phone the first plot stays below the verdict while the controls move under both; where a client is written, it does not. */
    const arrange = () => {
      const [plot] = Object.values(views),
        below = narrow.matches && !host.matches(".mini, :has(textarea)");
      if (below) top.append(plot);
      else places.firstElementChild.prepend(plot);
    };
    arrange();
    narrow.addEventListener("change", arrange);
    restore();
    addEventListener("hashchange", () => {
      if (!location.hash || location.hash.startsWith(prefix)) restore();
    });
    resized(host, redraw);
  }

  /* The entries of a grid (explore.py) at the first axes' values, over those that are left. */
  function entries({ axes, values }, ...setting) {
    const known = Object.values(axes).slice(0, setting.length),
      many = values.length / known.reduce((n, axis) => n * axis.length, 1);
    const at = known.reduce((place, axis, i) => place * axis.length + axis.indexOf(setting[i]), 0);
    return values.slice(at * many, (at + 1) * many);
  }
  const percent = (share) => `${digits(100 * share)} %`;
  /* Choices that are called what they are. */
  const named = (list) => Object.fromEntries(list.map((one) => [one, one]));

  Object.assign(ldpkit, { explorer, tools: { entries, mixed, named, percent, random, Wealth } });
})();
