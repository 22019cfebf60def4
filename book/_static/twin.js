/* Interactive twins of the book's figures, drawn from the table that travels with each.

   A page has <div data-twin="PAGE/FIGURE"> with the figure's data as JSON inside, or with the address of a script that brings
   them by a call of ldpkit.twin.bring(NAME, data). Nothing else is fetched. The data are

     {spec: {what plots.figure was told, with the notes that it drew}, names: {panel, series, source}, rows: [[panel, series, source, x, y, error], ...]}

   where the first three of a row count in `names`; with spec.along, a name, each row has one more number, the colour of its dot. A page of one's own
   (`make page`) has the book's figure so, and run: {csv, label} for what it found itself. Print, PDF and readers without scripts keep
   the picture. */
(() => {
  "use strict";
  const { abs, ceil, floor, log10, max, min, round, sign } = Math;
  const SIGN = 6.7; // pixels that a sign takes
  const KEEP = 5; // own runs that stay in the figure
  const LETTER = 0.5, // width of a letter of a note, in heights
    NOTE = 9.5; // pixels of the smallest letters that a note has inside a panel
  const WIDE = 576,
    FIRST = 420; // pixels that the panels of a page's own figure may take where it has to be seen whole
  const RUNS = ["this run, real reports", "this run"];
  const ORDER = [...RUNS, "exact", "paper", "released code"]; // which of several values a reader's cursor stands on

  const { button, dark, digits, escaped, extreme, grouped, make, power, resized, steps, themed } =
    ldpkit.base;

  /* ---- small helpers ---- */
  const number = (v) =>
    v === "" || v === null
      ? null
      : Number.isFinite(+v)
        ? +v
        : ({ inf: Infinity, "-inf": -Infinity }[v] ?? v);
  const seen = Number.isFinite;
  const least = (values) => values.reduce((a, b) => min(a, b)),
    most = (values) => values.reduce((a, b) => max(a, b));
  const unique = (values) => [...new Set(values)];
  function shown(v, n = 4, powers = false) {
    if (typeof v !== "number") return v === null ? "–" : String(v);
    if (powers && v !== 0 && seen(v)) return power(v, n);
    return abs(v) >= 1e4 && !extreme(v) ? grouped(round(v)) : digits(v, n);
  }
  /* How the ticks of one axis are written: all with powers of ten, or none. */
  const written = (values, n) => (v) => shown(v, n, values.some(extreme));
  /* A title as one line or two, by the room for it. */
  function broken(title, width) {
    if (title.length * 7.4 <= width) return title ? [title] : [];
    const spaces = [...title.matchAll(/ /g)].map((m) => m.index),
      off = (i) => abs(i - title.length / 2);
    const at = spaces.reduce((a, b) => (off(b) < off(a) ? b : a), spaces[0]);
    return spaces.length ? [title.slice(0, at), title.slice(at + 1)] : [title];
  }
  /* The table of a figure as text: quoted cells may hold commas and quotes. */
  function parsed(csv) {
    const cells = (line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
        .slice(0, 7)
        .map(([, cell]) => (cell[0] === '"' ? cell.slice(1, -1).replaceAll('""', '"') : cell));
    return csv.trimEnd().split("\n").slice(1).map(cells);
  }

  /* In words, where the points of a run lie compared with the book's, and how many have another colour, a value of `along`. A point
     has moved beyond its noise if it lies further away than both error bars reach together; an exact value has no noise. */
  function moved(book, rows, along) {
    const place = ([panel, series, source, x]) =>
        JSON.stringify([panel, series, source, number(x)]),
      left = new Map(),
      barred = [0, 0],
      bare = [0, 0],
      exact = [0, 0],
      shades = [0, 0];
    let added = 0;
    for (const row of book) left.set(place(row), [...(left.get(place(row)) ?? []), row]);
    for (const row of rows) {
      const other = left.get(place(row))?.shift();
      if (!other) {
        added++;
        continue;
      }
      const [y, bar, was, old] = [row[4], row[5], other[4], other[5]].map(number),
        kind = !RUNS.includes(row[2]) ? exact : !bar || !old ? bare : barred,
        room = (kind === barred ? bar + old : 0) + 1e-9 * max(abs(y), abs(was));
      kind[1]++;
      if (y !== was && !(abs(y - was) <= room)) kind[0]++;
      const [shade, before] = [row[6], other[6]].map(number);
      shades[1]++;
      if (along && !(abs(shade - before) <= 1e-9 * max(abs(shade), abs(before)))) shades[0]++;
    }
    const told = (count, words) => (count[1] ? [`${count[0]} of ${count[1]} ${words}`] : []);
    const both = [
      ...told(barred, "simulated ones differ by more than both error bars"),
      ...told(bare, "simulated ones differ, which may be noise (not both runs have error bars)"),
      ...told(exact, "exact ones differ"),
      ...(shades[0] ? told(shades, `values of ${along} (the colours) differ`) : []),
    ];
    if (!both.length) return ""; // places that are results themselves
    const more = added ? ` ${added} points stand where the book has none.` : "";
    return ` Where both runs have a point, ${both.join(", ")}.${more}`;
  }

  /* ---- colours: the book's palette by place; an ordered one from the theme's legible part of viridis ---- */
  const VIRIDIS = [
    "440154",
    "482878",
    "3e4989",
    "31688e",
    "26828e",
    "1f9e89",
    "35b779",
    "6ece58",
    "b5de2b",
    "fde725",
  ];
  function colour(i, count, palette) {
    if (palette !== "viridis") return `var(--tw-${i % 10})`;
    const [from, to] = dark() ? [3, 9] : [0, 7.5],
      at = from + ((to - from) * (i + 0.5)) / count,
      a = floor(at);
    return `color-mix(in srgb, #${VIRIDIS[min(9, a + 1)]} ${round(100 * (at - a))}%, #${VIRIDIS[a]})`;
  }

  /* ---- markers, as paths ---- */
  const corners =
    (...places) =>
    (x, y, r) =>
      `M${places.map(([a, b]) => `${(x + a * r).toFixed(1)} ${(y + b * r).toFixed(1)}`).join("L")}Z`;
  const strokes =
    (...lines) =>
    (x, y, r) =>
      lines.map(([a, b, c, d]) => `M${x + a * r} ${y + b * r}L${x + c * r} ${y + d * r}`).join("");
  const around = (n, ...radii) =>
    corners(
      ...Array.from({ length: n }, (_, i) =>
        [Math.sin, (a) => -Math.cos(a)].map(
          (f) => radii[i % radii.length] * f((2 * Math.PI * i) / n),
        ),
      ),
    );
  const SHAPES = [
    // in the order of ldpkit.plots.MARKERS
    (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
    corners([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]),
    around(3, 1.3),
    around(4, 1.3),
    corners([0, 1.3], [1.1, -0.7], [-1.1, -0.7]),
    around(8, 1.45, 0.6),
    around(5, 1.25),
    around(10, 1.5, 0.6),
    corners([-1.2, 0], [0.9, -1.1], [0.9, 1.1]),
    corners([1.2, 0], [-0.9, -1.1], [-0.9, 1.1]),
  ];
  const CROSS = strokes([-1, -1, 1, 1], [-1, 1, 1, -1]),
    PLUS = strokes([-1.2, 0, 1.2, 0], [0, -1.2, 0, 1.2]);
  const DASHES = ["6 4", "2 3", "7 3 2 3", "1 5", "10 3 2 3 2 3"];

  /* ---- scales and ticks ---- */
  const turn = (kind, unit) =>
    kind === "log"
      ? (v) => log10(v)
      : kind === "symlog"
        ? (v) => (abs(v) <= unit ? v / unit / 0.9 : sign(v) * (1 / 0.9 + log10(abs(v) / unit)))
        : (v) => v;
  /* A scale of `kind` over `values`, with ends given or left to them: {turned, low, high, kind}. */
  function scale(kind, values, [low, high] = [null, null]) {
    const good = values.filter((v) => seen(v) && (kind !== "log" || v > 0)),
      positive = good.filter((v) => v > 0);
    const unit = positive.length ? least(positive) : 1,
      turned = turn(kind, unit);
    let from = good.length ? least(good) : kind === "log" ? 0.1 : 0,
      to = good.length ? most(good) : 1;
    if (from === to) [from, to] = kind === "log" ? [from / 2, to * 2] : [from - 0.5, to + 0.5];
    const room = 0.045 * (turned(to) - turned(from));
    return {
      kind,
      turned,
      unit,
      from,
      to,
      low: low === null ? turned(from) - room : turned(low),
      high: high === null ? turned(to) + room : turned(high),
    };
  }
  /** @param {{ kind: string, low: number, high: number, unit?: number, from?: number, to?: number }} axis */
  function ticks({ kind, low, high, unit, from, to }, count, places = []) {
    if (places.length) return places;
    if (kind === "symlog") {
      const powers = Array.from({ length: 12 }, (_, i) => 10 ** (ceil(log10(unit)) + i)).filter(
        (v) => v <= to,
      );
      return unique([0, ...(powers.length ? powers : [unit, to])]).filter((v) => v >= from);
    }
    if (kind === "log") {
      const powers = [],
        every = max(1, ceil((high - low) / count)),
        inside = (v) => log10(v) >= low - 1e-9 && log10(v) <= high + 1e-9;
      for (let e = floor(low); e <= high; e++)
        if (high - low < 3 || e % every === 0) powers.push(e);
      const all = [high - low < 1.8 ? [] : [1], [1, 2, 5]]
        .map((parts) => powers.flatMap((e) => parts.map((m) => m * 10 ** e)).filter(inside))
        .find((found) => found.length > 2);
      return (
        all ||
        ticks({ kind: "linear", low: 10 ** low, high: 10 ** high }, count).filter((v) => v > 0)
      );
    }
    const found = steps(low, high, count);
    return found.length < 3 && count < 12 ? ticks({ kind, low, high }, 2 * count) : found;
  }

  /* ---- one figure ---- */
  class Twin {
    constructor(host, { spec, names, rows }) {
      this.host = host;
      this.spec = spec;
      this.along = spec.along;
      this.runs = [];
      this.made = 0;
      this.only = null;
      this.cursor = null;
      this.table = rows.map(([p, s, o, ...rest]) => [
        names.panel[p],
        names.series[s],
        names.source[o],
        ...rest,
      ]);
      this.figure = host.closest("figure");
      this.first = Boolean(host.closest(".tag_first-figure"));
      this.alt = this.figure?.querySelector("img")?.alt || "";
      this.build();
      this.read();
      this.draw();
      resized(this.plot, () => this.draw());
      themed(() => this.show(this.runs));
    }

    /* What stays when the drawing is made again. */
    build() {
      const id = `tw-${this.host.dataset.twin.replace(/\W/g, "-")}`;
      this.legend = make("div", {
        class: "tw-legend",
        role: "group",
        "aria-label": "Series: press one to see it alone",
      });
      this.key = make("p", { class: "tw-key" });
      this.canvas = make("div", { "aria-hidden": "true" });
      this.said = make("div", { class: "tw-said", role: "status", id: `${id}-said` });
      this.plot = make(
        "div",
        {
          class: "tw-plot",
          tabindex: "0",
          role: "application",
          "aria-roledescription": "interactive figure",
          "aria-label": `${this.alt} Arrow keys read the values, Page Up and Page Down change the panel, Escape leaves.`,
        },
        this.canvas,
        this.said,
      );
      this.large = button("Enlarge", () => this.enlarge(), { class: "tw-button" });
      this.mine = make("div", {
        class: "tw-mine",
        role: "group",
        "aria-label": "Your runs: press one to hide or show it",
      });
      this.details = make("details", { class: "tw-table" }, make("summary", {}, "Data table"));
      this.details.addEventListener(
        "toggle",
        () => this.details.open && !this.details.children[1] && this.tabulate(),
      );
      this.whose = make("p", { class: "tw-whose", hidden: "" });
      this.notes = make("ul", { class: "tw-notes" });
      this.box = make(
        "div",
        { class: "tw-box" },
        this.mine,
        this.whose,
        make("div", { class: "tw-top" }, this.legend, this.large),
        this.key,
        make("p", { class: "tw-up" }, `↑ ${this.spec.y}`),
        this.plot,
        make("p", { class: "tw-along" }, this.spec.x && `${this.spec.x} →`),
      );
      this.host.append(this.box, this.notes, this.details);
      for (const kind of /** @type {const} */ (["pointermove", "pointerdown"]))
        this.plot.addEventListener(kind, (event) => {
          if (kind === "pointerdown") this.before = this.cursor;
          this.near(event);
        });
      this.plot.addEventListener("blur", () => this.point(null));
      this.plot.addEventListener("pointerleave", ({ pointerType }) => {
        if (pointerType === "mouse") this.point(null); // a finger leaves when it is lifted
      });
      this.plot.addEventListener("pointercancel", () => this.point(this.before)); // the page is scrolled
      document.addEventListener("pointerup", ({ target }) => {
        if (this.cursor && !this.plot.contains(/** @type {Node} */ (target))) this.point(null);
      });
      this.plot.addEventListener("keydown", (event) => this.walk(event));
    }

    /* Rows by panel and series, of the book and of the reader's own runs. */
    read() {
      this.visible = this.runs.filter((r) => !r.hidden);
      const all = [{ rows: this.table }, ...this.visible];
      const rows = all.flatMap((run, i) =>
        run.rows.map(([panel, series, source, x, y, error, along]) => ({
          panel,
          series,
          source,
          run: i ? run : null,
          y: number(y),
          error: number(error),
          along: number(along ?? null),
          x: this.category(number(x)),
        })),
      );
      const claim = (row) => row.source === "claim";
      this.categories =
        this.spec.kind === "bars"
          ? unique(rows.filter((r) => !claim(r) && r.x !== null).map((r) => r.x))
          : [];
      const names = unique(rows.filter((r) => !claim(r)).map((r) => r.series));
      this.series = new Map(names.map((name, i) => [name, i])); // a sign of its own for each, as in the picture
      this.claims = unique(rows.filter(claim).map((r) => r.series));
      /** @type {any[]} */
      this.panels = unique(rows.map((r) => r.panel)).map((name) => {
        const here = rows.filter((r) => r.panel === name),
          groups = new Map();
        for (const row of here) {
          const key = JSON.stringify([row.series, row.source, row.run?.count]);
          if (!groups.has(key))
            groups.set(key, { series: row.series, source: row.source, run: row.run, rows: [] });
          groups.get(key).rows.push(row);
        }
        return {
          name,
          rows: here,
          groups: [...groups.values()],
          sources: new Set(here.map((r) => r.source)),
        };
      });
      this.rows = rows;
      const shades = rows.map((r) => r.along).filter(seen);
      this.shades = shades.length ? [least(shades), most(shades)] : [0, 1];
      this.explain();
    }
    /* A place on the horizontal axis: the words below bars, else a number. */
    category(x) {
      return this.spec.kind === "bars" && x !== null ? String(x) : x;
    }
    /* The notes are about the book's run, so that they are left out beside a run of the reader's. */
    get reasons() {
      return this.visible.length ? [] : this.spec.notes;
    }
    get count() {
      return max(0, ...this.series.values()) + 1;
    }
    colour(series) {
      return colour(this.series.get(series), this.count, this.spec.palette);
    }
    /* Whether runs have marks of this series, or the paper or the released code alone, or only a law has a line. */
    marked(series, ...sources) {
      return this.rows.some(
        (r) => r.series === series && r.x !== null && sources.includes(r.source),
      );
    }
    shape(series) {
      const i = this.series.get(series);
      return SHAPES[(i + floor(i / 10)) % 10];
    }
    words(source, run) {
      if (run) return `your run ${run.count}${source === "exact" ? ", exact" : ""}`;
      const both = RUNS.every((s) => this.panels.some((p) => p.sources.has(s)));
      const here =
        this.runs.length || document.getElementById("live-bar") ? "the book" : "this run";
      return (
        {
          paper: "paper",
          "released code": "released code",
          exact: this.spec.z ? "exact expectation" : "exact",
          [RUNS[0]]: `${here}, every report made`,
          "this run": both ? `${here}, counts sampled from the exact distribution` : here,
        }[source] || source
      );
    }

    /* ---- the legend ---- */
    swatch(draw, more = "") {
      return `<svg width="22" height="14" viewBox="0 0 22 14" aria-hidden="true">${draw}</svg>${more}`;
    }
    explain() {
      const named = [...this.series.keys()].filter((s) => s !== ""),
        runs = this.rows.some((r) => RUNS.includes(r.source));
      this.legend.replaceChildren(
        ...(named.length < 2 && this.series.size < 2 ? [] : named).map((name) => {
          const one = button("", () => this.isolate(this.only === name ? null : name), {
              class: "tw-series",
              "aria-pressed": String(this.only === name),
            }),
            tint = this.colour(name);
          if (this.visible.length && !this.rows.some((r) => r.run && r.series === name)) {
            one.classList.add("tw-absent");
            one.title = "not in your run";
          }
          const bare = !this.marked(name, ...RUNS),
            line = bare && !this.along && !this.marked(name, "paper", "released code");
          one.innerHTML = this.swatch(
            this.spec.kind === "bars"
              ? bare
                ? `<path d="${line ? "M3 7H19" : CROSS(11, 7, 4)}" style="stroke:${tint};stroke-width:2"/>`
                : `<rect x="4" y="1" width="14" height="12" fill="${tint}"/>`
              : `${runs && !line ? "" : `<path class="tw-line" d="M1 7H21" style="stroke:${tint}"/>`}${runs && line ? "" : `<path d="${this.shape(name)(11, 7, 4.5)}" fill="${tint}"/>`}`,
            escaped(name),
          );
          return one;
        }),
      );
      const has = (source) => this.rows.some((r) => r.source === source && !r.run),
        marked = this.spec.kind === "bars",
        parts = [];
      const error = (s) =>
        this.rows.some((r) => r.source === s && r.error !== null) && s !== "exact"
          ? `, ${this.spec.error}`
          : "";
      for (const s of RUNS.filter(has)) {
        const full = s === RUNS[0],
          look = `class="tw-run" style="--tw:currentColor;fill:${full ? "currentColor" : "none"}"`;
        parts.push(
          this.swatch(
            marked
              ? `<rect x="4" y="1" width="14" height="12" ${look} fill-opacity="${full ? 0.9 : 0}"/>`
              : `<path d="${SHAPES[0](11, 7, 4)}" ${look}/>`,
          ) +
            this.words(s).replace(
              "the book",
              this.visible.length ? "the book and your run" : "the book",
            ) +
            error(s),
        );
      }
      if (has("exact"))
        parts.push(
          this.swatch('<path class="tw-line" d="M1 7H21" style="stroke:currentColor"/>') +
            this.words("exact"),
        );
      if (this.along)
        parts.push(
          `<i class="tw-ramp" style="background:linear-gradient(to right, ${[0, 3, 6, 9, 11].map((i) => colour(i, 12, "viridis")).join()})"></i> ${escaped(this.along)} from ${this.shades.map((v) => shown(v)).join(" to ")}`,
        );
      if (has("paper"))
        parts.push(
          `${this.swatch(
            runs || marked
              ? `<path class="tw-cross" d="${CROSS(11, 7, 4)}"/>`
              : '<path class="tw-paper" d="M1 7H21"/>',
          )}the paper`,
        );
      if (has("released code"))
        parts.push(
          `${this.swatch(`<path class="tw-cross" d="${PLUS(11, 7, 4)}"/>`)}the authors’ code`,
        );
      this.claims.forEach((name, i) =>
        parts.push(
          this.swatch(`<path class="tw-claim" d="M1 7H21" stroke-dasharray="${DASHES[i % 5]}"/>`) +
            escaped(name),
        ),
      );
      this.key.innerHTML = parts.map((p) => `<span>${p}</span>`).join(" ");
      const last = this.visible.at(-1),
        paler = this.visible.slice(0, -1).map((r) => r.count);
      this.whose.hidden = !last;
      if (last)
        this.whose.replaceChildren(
          make("strong", {}, "Your run and the book’s."),
          ` Bold: your run ${last.count}. ${paler.length ? `Paler: your run ${paler.join(", ")}. ` : ""}Faint: the book.` +
            (this.spec.kind === "bars" ? " Bars stand side by side, the book’s on the left." : ""),
          make("span", { "data-run-moved": true }, moved(this.table, last.rows, this.along)),
          this.outside(last.rows),
        );
      this.mine.replaceChildren(
        ...this.runs.map((run, i) => {
          const press = () => {
            run.hidden = !run.hidden;
            this.show(this.runs);
            /** @type {HTMLElement} */ (this.mine.children[i]).focus();
          };
          const look = { class: "tw-series", "aria-pressed": String(!run.hidden) };
          return button(`your run ${run.count}: ${run.label}`, press, look);
        }),
      );
    }
    /* In words, how many points of a run the axes do not reach, if these have fixed ends. */
    outside(rows) {
      const [low, high] = this.spec.ylim,
        out = (some) =>
          some
            .map((row) => number(row[4]))
            .filter((y) => seen(y) && (y < (low ?? -Infinity) || y > (high ?? Infinity))).length,
        book = this.table.filter((row) => RUNS.includes(row[2]) || row[2] === "exact");
      return out(rows) > out(book)
        ? ` ${out(rows)} of its points lie outside these axes: the table has their values.`
        : "";
    }
    isolate(series) {
      this.only = series;
      for (const b of this.legend.children)
        b.setAttribute("aria-pressed", String(b.textContent === series));
      this.point(null);
      this.dim();
    }
    dim() {
      this.canvas.firstElementChild.classList.toggle("tw-alone", this.only !== null);
      for (const g of this.canvas.querySelectorAll(".tw-g")) {
        const { p, g: at } = /** @type {SVGElement} */ (g).dataset;
        const { series, source } = this.panels[p].groups[at];
        g.classList.toggle("tw-on", series === this.only || source === "claim");
      }
    }

    /* ---- the drawing ---- */
    axes(rows, which) {
      const { spec } = this,
        placed = rows.filter((r) => which === "y" || (r.y !== null && r.x !== null));
      if (which === "x")
        return scale(
          spec.xscale,
          placed.map((r) => r.x),
        );
      const bars = placed
        .filter((r) => r.error !== null && r.source !== "exact")
        .flatMap((r) => [r.y - r.error, r.y + r.error]);
      const low = spec.yscale === "log" && spec.floor !== null ? 0.9 * spec.floor : spec.ylim[0];
      const values = placed.map((r) => r.y),
        above = spec.yscale === "log" ? bars.filter((v) => v > 0 && v > (low || 0)) : bars;
      const all = [...values, ...above].filter((v) => low === null || v >= low);
      return scale(spec.yscale, all.length ? all : values, [low, spec.ylim[1]]);
    }
    /* Room is left for the labels of `marked` ticks; if other ticks that fit the height are wider, it is drawn again. */
    draw(marked = 5) {
      const { spec, panels, categories } = this,
        bars = spec.kind === "bars",
        count = panels.length;
      const width = max(240, this.plot.clientWidth),
        sharedY = spec.share.includes("y"),
        sharedX = spec.share.includes("x") || bars;
      this.width = width;
      const whole = { x: this.axes(this.rows, "x"), y: this.axes(this.rows, "y") };
      for (const p of panels) {
        p.x = bars
          ? { low: -0.6, high: categories.length - 0.4, turned: (c) => categories.indexOf(c) }
          : sharedX
            ? whole.x
            : this.axes(p.rows, "x");
        p.y = sharedY ? whole.y : this.axes(p.rows, "y");
      }
      const narrow = min(
        bars
          ? max(
              170,
              9 * this.count * categories.length,
              4 * this.count * (1 + this.visible.length) * categories.length,
            )
          : max(150, 52 * spec.size[0]),
        width,
      );
      const columns = max(1, min(spec.columns, count, floor(width / narrow)));
      const signs = (n) =>
        max(
          ...panels.flatMap((p) => ticks(p.y, n).map((v, _, all) => written(all, 3)(v).length)),
          1,
        );
      const gutter = 8 + SIGN * signs(marked),
        other = sharedY ? 9 : gutter + 6;
      const longest = max(0, ...categories.map((c) => c.length)),
        turned = bars && longest * SIGN > (width - gutter) / columns / categories.length - 8;
      const first = turned ? max(gutter, 0.75 * SIGN * longest - 10) : gutter,
        w = (width - first - 8 - (columns - 1) * other) / columns;
      this.slant = turned && ((width - gutter) / columns / categories.length) * 0.57 < 12 ? 70 : 35;
      const top = panels.some((p) => broken(p.name, w)[1])
          ? 39
          : panels.some((p) => p.name)
            ? 24
            : 8,
        bottom = turned ? 14 + longest * SIGN * (this.slant > 35 ? 0.96 : 0.62) : 22,
        rows = ceil(count / columns),
        natural = max(
          min(170, 0.65 * w),
          min((w * (spec.size[1] - 0.5)) / (spec.size[0] - 0.5), 380, max(170, 0.8 * w)),
        ),
        h =
          width < WIDE || !this.first
            ? max(natural, min(1.3 * w, this.free() / rows - top - bottom))
            : min(natural, max(70, FIRST / rows - top - bottom)),
        height = rows * (h + top + bottom),
        fitting = max(3, floor(h / 36));
      if (marked === 5 && signs(fitting) > signs(5)) return void this.draw(fitting);
      const parts = panels.map((p, i) => {
        const column = i % columns,
          left = first + column * (w + other); // labels keep to their own half of the gap
        Object.assign(p, {
          left,
          from: column ? left - other / 2 : 0,
          to: column < columns - 1 ? left + w + other / 2 : width,
          top: top + floor(i / columns) * (h + top + bottom),
          w,
          h,
        });
        p.X = (v) => p.left + (w * (p.x.turned(v) - p.x.low)) / (p.x.high - p.x.low);
        p.Y = (v) => p.top + h * (1 - (p.y.turned(v) - p.y.low) / (p.y.high - p.y.low));
        return this.frame(p, !sharedY || column === 0, turned) + this.marks(p, i);
      });
      parts.push(this.noted());
      this.canvas.innerHTML = `<svg width="${width}" height="${ceil(height)}" viewBox="0 0 ${width} ${ceil(height)}">${parts.join("")}<path class="tw-cursor"/></svg>`;
      this.dim();
      if (this.cursor) this.point(this.cursor);
    }
    /* Height that a narrow screen has for the panels of an enlarged figure, beside its button, legend and axes' names. */
    free() {
      return this.dialog
        ? this.dialog.clientHeight - 64 - this.box.offsetHeight + this.plot.offsetHeight
        : 0;
    }
    frame(p, labelled, turned) {
      const { categories } = this,
        parts = [],
        base = p.top + p.h;
      const upwards = ticks(p.y, max(3, floor(p.h / 36)));
      for (const v of upwards) {
        const y = p.Y(v).toFixed(1);
        parts.push(`<path class="tw-grid" d="M${p.left} ${y}H${p.left + p.w}"/>`);
        if (labelled)
          parts.push(
            `<text x="${p.left - 5}" y="${+y + 4}" text-anchor="end">${written(upwards, 3)(v)}</text>`,
          );
      }
      const at = categories.length ? categories : this.places(p),
        say = written(at, 4);
      let free = Infinity; // from the right, so that the largest value keeps its label
      for (const v of at.slice().reverse()) {
        const x = p.X(v),
          text = categories.length ? escaped(number(v) === v ? v : shown(number(v), 4)) : say(v),
          half = (SIGN * text.length) / 2 + 4,
          place = max(p.from + half, min(p.to - half, x));
        if (!categories.length)
          parts.push(`<path class="tw-grid" d="M${x.toFixed(1)} ${p.top}V${base}"/>`);
        if (turned)
          parts.push(
            `<text transform="translate(${x + 3} ${base + 13}) rotate(${-this.slant})" text-anchor="end">${text}</text>`,
          );
        else if (place + half < free || categories.length) {
          parts.push(
            `<text x="${place.toFixed(1)}" y="${base + 15}" text-anchor="middle">${text}</text>`,
          );
          free = place - half;
        }
      }
      broken(p.name, p.w).forEach((line, i, all) =>
        parts.push(
          `<text class="tw-title" x="${p.left + p.w / 2}" y="${p.top - 9 - 15 * (all.length - 1 - i)}" text-anchor="middle">${escaped(line)}</text>`,
        ),
      );
      return `${parts.join("")}<path class="tw-frame" d="M${p.left} ${p.top}V${base}H${p.left + p.w}"/>`;
    }
    /* Ticks stand where the values are, if they are few. */
    places(p) {
      const values = unique(
        (this.spec.share.includes("x") ? this.rows : p.rows)
          .filter((r) => r.y !== null && seen(r.x))
          .map((r) => r.x),
      ).sort((a, b) => a - b);
      const few =
        values.length &&
        values.length <= 12 &&
        values.every((v) => +v.toPrecision(3) === v) &&
        (this.spec.xscale !== "log" || values[0] > 0);
      return ticks(p.x, max(3, floor(p.w / 50)), few ? values : []);
    }
    marks(p, index) {
      const { spec } = this,
        runs = [...p.sources].some((s) => RUNS.includes(s)),
        bars = spec.kind === "bars";
      const low = spec.yscale === "log" && spec.floor !== null ? spec.floor : -Infinity;
      const lanes = 1 + this.visible.length,
        lane = (run) => 1 + this.visible.indexOf(run); // of bars: the book's first, then the runs'
      const width = bars ? (0.8 * p.w) / (p.x.high - p.x.low) / this.count / lanes : 0,
        clip = `${this.said.id}-${index}`;
      p.at = ({ series, source, x, y, run }) => [
        p.X(x) +
          (bars && source !== "claim"
            ? (lanes * this.series.get(series) + lane(run) - (lanes * this.count - 1) / 2) * width
            : 0),
        p.Y(max(y, low)),
      ];
      const drawn = p.groups.map((g, i) => {
        const level = g.rows
          .filter((r) => r.x === null && seen(r.y))
          .map((r) => `M${p.left} ${p.Y(r.y).toFixed(1)}H${p.left + p.w}`);
        const upright = g.rows
          .filter((r) => r.y === null && r.x !== null)
          .map((r) => `M${p.X(r.x).toFixed(1)} ${p.top}V${p.top + p.h}`);
        const line = g.source === "exact" || g.source === "claim"; // leaves the axes where markers stand on their floor
        const rows = g.rows.filter(
          (r) =>
            r.x !== null &&
            seen(r.y) &&
            (bars || seen(p.X(r.x))) &&
            seen(p.Y(line ? r.y : max(r.y, low))),
        );
        const places = rows.map((r) => [p.at(r)[0], line ? p.Y(r.y) : p.at(r)[1]]);
        const path =
          `${level.join("")}${upright.join("")}` +
          places.map(([x, y], n) => `${n ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
        const dots = (shape, r) =>
          places.map(([x, y]) => shape(+x.toFixed(1), +y.toFixed(1), r)).join("");
        const dashes = (half) =>
            level.join("") + places.map(([x, y]) => `M${x - half} ${y}h${2 * half}`).join(""),
          tint = this.colour(g.series);
        let body = "";
        if (g.source === "claim")
          body = `<path class="tw-claim" d="${bars ? dashes((0.45 * p.w) / (p.x.high - p.x.low)) : path}" stroke-dasharray="${DASHES[this.claims.indexOf(g.series) % 5]}"/>`;
        else if (g.source === "paper" && !runs && !bars)
          body = `<path class="tw-paper" d="${path}"/>`;
        else if (g.source === "paper" || g.source === "released code")
          body = `<path class="tw-cross"${bars && !this.marked(g.series, ...RUNS) ? ` style="stroke:${tint}"` : ""} d="${dots(g.source === "paper" ? CROSS : PLUS, 4)}"/>`;
        else if (g.source === "exact" && this.along)
          body = `<path class="tw-line tw-thin" style="stroke:${tint}" d="${path}"/>${this.dots(rows, places, this.shape(g.series))}`;
        else if (g.source === "exact")
          body = bars
            ? `<path class="tw-law"${this.marked(g.series, ...RUNS) ? "" : ` style="stroke:${tint}"`} d="${dashes(width / 2)}"/>`
            : `<path class="tw-line" style="stroke:${tint}" d="${places.length === 1 ? dashes(8) : path}"/>`;
        else {
          const full = g.source === RUNS[0],
            whiskers = rows
              .filter((r) => r.error && seen(p.Y(max(r.y + r.error, low))))
              .map((r) => {
                const [x] = p.at(r),
                  up = p.Y(max(r.y + r.error, low)),
                  foot = p.Y(r.y - r.error),
                  down = min(seen(foot) ? foot : Infinity, p.top + p.h + 9);
                return `M${x - 2.5} ${up}h5M${x} ${up}V${down}M${x - 2.5} ${down}h5`;
              })
              .join(""),
            base = min(p.top + p.h, seen(p.Y(0)) ? p.Y(0) : p.top + p.h);
          const blocks = places
            .map(
              ([x, y]) =>
                `M${(x - width / 2).toFixed(1)} ${base.toFixed(1)}V${y.toFixed(1)}h${width.toFixed(1)}V${base.toFixed(1)}Z`,
            )
            .join("");
          body = bars
            ? `<path class="tw-block" d="${blocks}" style="fill:${tint};fill-opacity:${full ? 0.95 : 0.5}"/><path class="tw-whisker" style="stroke:currentColor" d="${whiskers}"/>`
            : `${p.sources.has("exact") ? "" : `<path class="tw-line tw-thin" style="stroke:${tint}" d="${path}"/>`}<path class="tw-whisker" style="stroke:${tint}" d="${whiskers}"/><path class="tw-run" style="--tw:${tint};fill:${full ? tint : "var(--pst-color-background)"}" d="${dots(this.shape(g.series), g.run ? 5 : 3.4)}"/>`;
        }
        return `<g class="tw-g${g.run ? " tw-own" : ""}" data-p="${index}" data-g="${i}"${g.run ? ` style="opacity:${g.run === this.visible.at(-1) ? 1 : 0.55}"` : ""}>${body}</g>`;
      });
      const rank = (g) =>
        g.run
          ? 5
          : ({ paper: runs || bars ? 4 : 0, "released code": 4, claim: 1, exact: bars ? 4 : 2 }[
              g.source
            ] ?? 3);
      const order = drawn.map((_, i) => i).sort((a, b) => rank(p.groups[a]) - rank(p.groups[b]));
      this.stops(p);
      const old = lanes > 1 ? " tw-old" : "";
      return `<clipPath id="${clip}"><rect x="${p.left - 6}" y="${p.top - 6}" width="${p.w + 12}" height="${p.h + 12}"/></clipPath><g class="tw-marks${old}" clip-path="url(#${clip})">${order.map((i) => drawn[i]).join("")}</g>`;
    }

    /* The notes, each with a line to its point. They stand in the panels as in the picture if there is room for letters that can be
       read, else in a list below. */
    noted() {
      const { spec, panels } = this,
        [wide, high] = spec.size.map((inches) => 72 * (inches - 0.5)), // of a panel of the picture, in points
        letter = min(12, 8 * least(panels.flatMap((p) => [p.w / wide, p.h / high]))),
        inside = letter >= NOTE;
      this.notes.replaceChildren(
        ...(inside ? [] : this.reasons).map(({ says, series, x, panel }) =>
          make(
            "li",
            {},
            make(
              "strong",
              {},
              [panel, series, `${spec.x} ${shown(x)}`].filter((part) => part !== "").join(", "),
            ),
            `: ${says.replaceAll("\n", " ")}`,
          ),
        ),
      );
      return (inside ? this.reasons : [])
        .map(({ says, series, x, panel, at }) => {
          const index = panels.findIndex((q) => q.name === panel),
            p = panels[index],
            here = (row) => row.x === this.category(x),
            own = p.groups.filter((g) => g.series === series && g.rows.some(here)),
            group = own.find((g) => g.source === "exact") ?? own[0],
            [toX, toY] = p.at(group.rows.find(here)),
            lines = says.split("\n"),
            halfW = (LETTER * letter * max(...lines.map((line) => line.length))) / 2 + 3,
            halfH = 0.6 * letter * lines.length + 2,
            middleX = p.left + at[0] * p.w,
            middleY = p.top + (1 - at[1]) * p.h,
            [dx, dy] = [toX - middleX, toY - middleY],
            far = Math.hypot(dx, dy) || 1,
            from = min(halfW / (abs(dx) || 1e-9), halfH / (abs(dy) || 1e-9)), // where the line leaves the words
            to = 1 - 4 / far,
            place = (share) =>
              `${(middleX + share * dx).toFixed(1)} ${(middleY + share * dy).toFixed(1)}`,
            words = lines.map(
              (line, i) =>
                `<tspan x="${middleX.toFixed(1)}" y="${(middleY + letter * (0.35 + 1.2 * (i - (lines.length - 1) / 2))).toFixed(1)}">${escaped(line)}</tspan>`,
            );
          return `<g class="tw-g tw-note" data-p="${index}" data-g="${p.groups.indexOf(group)}">${from < to ? `<path d="M${place(from)}L${place(to)}"/>` : ""}<text text-anchor="middle" style="font-size:${letter.toFixed(1)}px">${words.join("")}</text></g>`;
        })
        .join("");
    }

    /* Dots in the colours of what runs along a line, a path for each of a few colours. */
    dots(rows, places, shape) {
      const [low, high] = this.shades,
        shades = Array.from({ length: 12 }, () => "");
      rows.forEach((r, i) => {
        shades[min(11, floor((12 * (r.along - low)) / (high - low || 1)))] += shape(
          +places[i][0].toFixed(1),
          +places[i][1].toFixed(1),
          3,
        );
      });
      return shades
        .map((d, i) =>
          d ? `<path class="tw-dot" style="fill:${colour(i, 12, "viridis")}" d="${d}"/>` : "",
        )
        .join("");
    }

    /* ---- reading values ---- */
    /* Where the cursor can stand: one place per panel, series and x, with what every source says there. */
    stops(p) {
      p.lines = new Map();
      for (const row of p.rows) {
        if (row.source === "claim" || row.x === null) continue;
        if (!p.lines.has(row.series)) p.lines.set(row.series, new Map());
        const line = p.lines.get(row.series);
        if (!line.has(row.x)) line.set(row.x, { panel: p, series: row.series, x: row.x, rows: [] });
        line.get(row.x).rows.push(row);
      }
      const rank = (r) => (r.run ? -1 : ORDER.indexOf(r.source));
      for (const [series, line] of p.lines) {
        const stops = [...line.values()].filter((stop) => {
          stop.rows.sort((a, b) => rank(a) - rank(b));
          stop.place = stop.rows
            .filter((r) => seen(r.y))
            .map(p.at)
            .find(([x, y]) => seen(x) && seen(y));
          return stop.place;
        });
        if (this.spec.kind !== "bars")
          stops.sort((a, b) => (this.along ? a.rows[0].along - b.rows[0].along : a.x - b.x));
        p.lines.set(series, stops);
      }
    }
    lines(p) {
      return [...p.lines.keys()].filter(
        (s) => (this.only === null || s === this.only) && p.lines.get(s).length,
      );
    }
    near({ clientX, clientY }) {
      const frame = this.canvas.getBoundingClientRect(),
        x = clientX - frame.left,
        y = clientY - frame.top;
      const p = this.panels.find(
        (q) => x > q.left - 12 && x < q.left + q.w + 12 && y > q.top - 14 && y < q.top + q.h + 14,
      );
      const stops = p ? this.lines(p).flatMap((s) => p.lines.get(s)) : [];
      const far = ({ place: [a, b] }) => (a - x) ** 2 + (b - y) ** 2;
      const best = stops.length ? stops.reduce((a, b) => (far(b) < far(a) ? b : a)) : null;
      this.point(best && far(best) < 2500 ? best : null);
    }
    /* What stands at a stop, a line for each source. */
    sentence({ panel, series, x, rows }) {
      const law = rows.find((r) => r.source === "exact" && !r.run),
        lines = [];
      for (const r of rows) {
        const error = r.error !== null && r.source !== "exact" ? ` ± ${shown(r.error, 3)}` : "";
        const z =
          this.spec.z && law && law.error > 0 && RUNS.includes(r.source) && seen(r.y)
            ? `, z = ${shown(+((r.y - law.y) / law.error).toFixed(2))}`
            : "";
        lines.push(`${this.words(r.source, r.run)}: ${shown(r.y)}${error}${z}`);
      }
      for (const r of panel.rows)
        if (r.source === "claim" && r.y !== null && (r.x === x || r.x === null))
          lines.push(
            `${r.run ? `your run ${r.run.count}, ` : ""}${r.series || "claim"}: ${shown(r.y)}`,
          );
      for (const note of this.reasons)
        if (note.panel === panel.name && note.series === series && this.category(note.x) === x)
          lines.push(note.says.replaceAll("\n", " "));
      const head = [panel.name, series].filter(Boolean).join(" · "),
        shade = ({ along }) => (along === null ? "" : `${this.along} ${shown(along)}`),
        shades = unique(rows.map(shade));
      if (shades[1]) rows.forEach((r, i) => (lines[i] += `, ${shade(r)}`));
      return [
        [
          head,
          shades[1] ? "" : shades[0],
          `${this.spec.x.replace(/ \(log[^)]*\)$/, "")} ${shown(typeof x === "string" ? number(x) : x)}`,
        ]
          .filter(Boolean)
          .join("; "),
        ...lines,
      ];
    }
    point(stop) {
      this.cursor =
        stop && this.panels.includes(stop.panel)
          ? (stop.panel.lines.get(stop.series) || []).find((s) => s.x === stop.x) || null
          : null;
      const mark = this.canvas.querySelector(".tw-cursor");
      mark.setAttribute("d", this.cursor ? SHAPES[0](...this.cursor.place, 8) : "");
      const lines = this.cursor ? this.sentence(this.cursor) : [],
        text = lines.join("\n");
      if (this.text !== text)
        this.said.replaceChildren(...lines.map((line, i) => make(i ? "div" : "strong", {}, line)));
      this.text = text;
      if (!this.cursor) return;
      const [x, y] = this.cursor.place,
        wide = this.said.offsetWidth,
        high = this.said.offsetHeight;
      this.said.style.left = `${max(0, min(this.width - wide, x + wide + 18 > this.width ? x - wide - 14 : x + 14))}px`;
      this.said.style.top = `${y - high - 12 > this.roof() ? y - high - 12 : y + 14}px`;
    }
    /* Where what stands fixed at the top of the window ends, in the chart's own pixels. */
    roof() {
      const { top } = this.canvas.getBoundingClientRect(),
        ends = [...document.querySelectorAll(".bd-header-article, #live-bar")]
          .map((e) => e.getBoundingClientRect())
          .filter((box) => box.height && box.top < 80)
          .map(({ bottom }) => bottom - top);
      return max(-30, ...ends);
    }
    walk(event) {
      const { key } = event,
        at = this.cursor,
        p = at ? at.panel : this.panels.find((q) => this.lines(q).length);
      if (key === "Escape" && at) {
        this.point(null);
        event.stopPropagation();
        event.preventDefault();
        return;
      }
      if (
        !/^(Arrow|Page|Home|End)/.test(key) ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        !p
      )
        return;
      event.preventDefault();
      if (!at) return this.point(p.lines.get(this.lines(p)[0])[0]);
      const line = p.lines.get(at.series),
        names = this.lines(p),
        i = line.indexOf(at),
        place = at.place[0] - p.left;
      const off = (s) => abs(s.place[0] - s.panel.left - place);
      const to = (stops) =>
        stops.find((s) => s.x === at.x) || stops.reduce((a, b) => (off(b) < off(a) ? b : a));
      if (key === "ArrowRight" || key === "ArrowLeft")
        this.point(line[max(0, min(line.length - 1, i + (key === "ArrowRight" ? 1 : -1)))]);
      else if (key === "Home" || key === "End") this.point(key === "Home" ? line[0] : line.at(-1));
      else if (key.startsWith("Arrow"))
        this.point(
          to(
            p.lines.get(
              names[
                (names.indexOf(at.series) + (key === "ArrowDown" ? 1 : names.length - 1)) %
                  names.length
              ],
            ),
          ),
        );
      else {
        const full = this.panels.filter((q) => this.lines(q).length),
          q = full[(full.indexOf(p) + (key === "PageDown" ? 1 : full.length - 1)) % full.length];
        this.point(to(q.lines.get(q.lines.get(at.series)?.length ? at.series : this.lines(q)[0])));
      }
    }

    /* ---- the table, the dialog, the reader's own runs ---- */
    tabulate() {
      const head = ["source", this.spec.x, this.spec.y, "error", this.along],
        figures = this.plot.clientWidth < 500 ? 4 : 6, // the file has all digits
        short = (v) => (v % 1 ? +Number(v).toPrecision(figures) : (v ?? "")),
        cell = (v) => `<td>${escaped(`${short(v)}`)}</td>`;
      const place = make("div", {
        role: "region",
        tabindex: "0",
        "aria-label": "Data of the figure",
      });
      const rows = [
        ...this.table,
        ...this.runs.flatMap((run) =>
          run.rows.map(([panel, series, source, ...rest]) => [
            panel,
            series,
            this.words(source, run),
            ...rest,
          ]),
        ),
      ];
      const told = head.map((_, i) => rows.some((row) => (row[i + 2] ?? "") !== "")), // what is exact has no error
        line = (cells) => `<tr>${cells.filter((_, i) => told[i]).join("")}</tr>`,
        groups = new Map();
      for (const row of rows) {
        const name = row.slice(0, 2).filter(Boolean).join(": ");
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push(row);
      }
      const part = ([name, mine]) => {
        const title = `<tr><th scope="rowgroup" colspan="${told.filter(Boolean).length}"><span>${escaped(name)}</span></th></tr>`;
        return `<tbody>${name ? title : ""}${mine.map(([, , ...row]) => line(head.map((_, i) => cell(row[i])))).join("")}</tbody>`;
      };
      place.innerHTML = `<table><thead>${line(head.map((h) => `<th scope="col">${escaped(h ?? "")}</th>`))}</thead>${[...groups].map(part).join("")}</table>`;
      this.details.append(place);
    }
    enlarge() {
      const close = button("Close", () => this.dialog.close(), { class: "tw-button" });
      this.dialog = make(
        "dialog",
        {
          class: "tw-dialog",
          "aria-label": this.figure?.querySelector(".caption-number")?.textContent || "Figure",
        },
        close,
        this.box,
        this.notes,
      );
      document.body.append(this.dialog);
      this.dialog.addEventListener("close", () => {
        this.host.prepend(this.box, this.notes);
        this.dialog.remove();
        this.dialog = null;
        this.draw();
        this.large.focus();
      });
      this.dialog.showModal();
      this.draw();
    }
    /* Put what a live run found into the same axes; the book's marks fade behind it, and the last runs stay. */
    overlay(csv, label) {
      const said = ([panel, series, , x, y]) =>
          JSON.stringify([panel, series, number(x), number(y)]),
        line = ([panel, series]) => JSON.stringify([panel, series]),
        known = new Set(this.table.filter((row) => row[2] === "claim").map(said)),
        all = parsed(csv),
        other = all.filter((row) => row[2] === "claim" && !known.has(said(row))).map(line);
      const rows = all.filter(
        (row) =>
          RUNS.includes(row[2]) ||
          row[2] === "exact" ||
          (row[2] === "claim" && other.includes(line(row))),
      );
      this.show([...this.runs, { rows, label, count: ++this.made }].slice(-KEEP));
    }
    show(runs) {
      this.runs = runs;
      this.read();
      this.draw();
      this.details.children[1]?.remove();
      if (this.details.open) this.tabulate();
    }
  }

  /* ---- from the page's elements to twins, when they come near the view ---- */
  const twins = new Map(),
    brought = new Map();
  function start(host, data) {
    if (twins.has(host)) return twins.get(host);
    twins.set(host, null);
    if (data.rows.length) twins.set(host, new Twin(host, data));
    if (data.run) twins.get(host)?.overlay(data.run.csv, data.run.label);
    host.dataset.state = data.rows.length ? "ready" : "empty";
    if (data.rows.length) host.dispatchEvent(new Event("drawn"));
    return twins.get(host);
  }
  function begin(host) {
    const inside = host.querySelector("script[type='application/json']"),
      waiting = brought.get(host.dataset.twin);
    if (inside) return start(host, JSON.parse(inside.textContent));
    if (!waiting && host.dataset.src) {
      brought.set(host.dataset.twin, host);
      document.head.append(make("script", { src: host.dataset.src }));
    }
    return null;
  }
  /* While the page is read: a figure that the reader sees first stands before anything is painted, so that nothing moves. */
  function early() {
    const aim = document.getElementById(location.hash.slice(1)),
      from = aim ? aim.getBoundingClientRect().top : -scrollY;
    for (const host of document.querySelectorAll("[data-twin]:not([data-state])"))
      if (host.nextSibling && host.getBoundingClientRect().top - from < 2 * innerHeight)
        begin(host);
  }
  function find() {
    const watch = new IntersectionObserver(
      (entries) =>
        entries.forEach((e) => {
          if (e.isIntersecting) {
            watch.unobserve(e.target);
            begin(e.target);
          }
        }),
      { rootMargin: "600px" },
    );
    document.querySelectorAll("[data-twin]").forEach((host) => watch.observe(host));
  }
  const twin = {
    bring: (name, data) => start(brought.get(name), data),
    overlay(host, csv, label) {
      if (twins.get(host) || begin(host)) twins.get(host).overlay(csv, label);
      else
        host.addEventListener("drawn", () => twins.get(host).overlay(csv, label), { once: true }); // its data are on their way
    },
    clear: (host) => twins.get(host)?.show([]),
  };
  ldpkit.twin = twin;
  const reading = new MutationObserver(early);
  reading.observe(document, { childList: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => {
    reading.disconnect();
    find();
  });
})();
