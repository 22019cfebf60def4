/* The scoreboard as an explorer: every comparison, claim and erratum in one list with filters, one chart, links and CSV. The data are a
   classic script (board.data.js), because a page from a file may not fetch. The state is in the address: #board:paper=rad&sort=z */
(() => {
  "use strict";
  const { abs, ceil, floor, log1p, max, min, sign } = Math;
  const { button, digits, grouped, make, minus, remember, resized, themed } = ldpkit.base,
    D = globalThis.ldpkitBoard,
    host = /** @type {HTMLElement} */ (document.querySelector("[data-board]"));
  if (!host || !D) return;
  const PAGE = matchMedia("(max-width: 576px)").matches ? 10 : 50,
    PREFIX = "#board:";
  const HOWS = {
    "real reports": "●",
    "sampled from exact rates": "■",
    "closed form": "▲",
    "stored run": "◆",
    timing: "✕",
    "released code": "+",
  };
  const TONES = {
    reproduced: "good",
    holds: "good",
    "agrees with the authors' code": "good",
    "differs-explained": "warn",
    differs: "bad",
    undecided: "warn",
    "by definition": "plain",
    "other-data": "other",
    "no-published-value": "plain",
    "holds in part": "warn",
    "does not hold": "bad",
    "cannot be checked here": "plain",
    wording: "plain",
    number: "warn",
    figure: "warn",
    conclusion: "bad",
  };
  const SAID = {
    "differs-explained": "differs, explained",
    "other-data": "on other data",
    "no-published-value": "not printed",
  };
  const COUNTED = [
    "reproduced",
    "holds",
    "agrees with the authors' code",
    "differs-explained",
    "differs",
  ];
  const UNPRINTED = "no-published-value";
  const TYPES = {
    compared: "numbers that a paper or its code has too",
    number: "all numbers",
    claim: "claims",
    erratum: "errata",
    all: "everything",
  };

  /* ---- rows ---- */
  const word = (name, i) => D.words[name][0][D.words[name][1][i]],
    figure = (item) => (D.items[item] ? D.items[item][0] : "");
  const pageOf = (item) => {
    const [, , page, anchor] = D.items[item] || [];
    return page ? `${page}.html#${anchor || "does-it-agree-with-the-paper"}` : "";
  };
  const rows = [],
    counted = {};
  for (let i = 0; i < D.numbers.x.length; i++) {
    const item = word("item", i),
      row = {
        type: "number",
        item,
        paper: item.split("/")[0],
        series: word("series", i),
        protocol: word("protocol", i),
        verdict: word("verdict", i),
        note: word("note", i),
        relation: word("relation", i),
        how: word("how", i),
        kind: word("kind", i),
      };
    for (const name of Object.keys(D.numbers)) row[name] = D.numbers[name][i];
    counted[item] = (counted[item] || 0) + 1;
    row.id = `${item}/${counted[item]}`;
    row.z =
      row.exact !== null && row.reproduced_se > 0 && row.reproduced !== null
        ? (row.reproduced - row.exact) / row.reproduced_se
        : null;
    row.apart =
      row.published && row.reproduced !== null && row.relation === "="
        ? (row.reproduced - row.published) / abs(row.published)
        : null;
    rows.push(row);
  }
  const items = Object.keys(D.items),
    onPage = (page) => items.find((item) => D.items[item][2] === page) || "";
  for (const [id, paper, place, claim, relation, published, found, verdict, page] of D.claims)
    rows.push({
      type: "claim",
      id: `claim/${id}`,
      item: onPage(page),
      paper,
      series: claim,
      note: `${place}. ${verdict}`,
      protocol: "",
      verdict: verdict.split(":")[0],
      relation,
      kind: "claim in words",
      how: "",
      published,
      reproduced: found,
      link: `claims.html#claim-${id.replaceAll("/", "-")}`,
    });
  const paperOf = (id) => id.replace(/-\d+$/, "").replaceAll("-", "_"),
    erratum = (id) => `errata/${paperOf(id)}.html#${id}`;
  for (const [id, title, effect, affects] of D.errata)
    rows.push({
      type: "erratum",
      id: `erratum/${id}`,
      item: affects[0] || "",
      affects,
      paper: paperOf(id),
      series: title,
      note: affects.map(figure).join(", "),
      protocol: "",
      verdict: effect,
      how: "",
      kind: "",
      link: erratum(id),
    });
  rows.forEach((row, place) => {
    row.place = place;
    row.text =
      `${row.series} ${row.note} ${row.protocol} ${figure(row.item)} ${D.papers[row.paper] || row.paper}`.toLowerCase();
  });
  const errataOf = {};
  for (const [id, title, , affects] of D.errata)
    for (const item of affects) errataOf[item] = [...(errataOf[item] || []), [id, title]];

  /* ---- numbers: as few digits, four at least, as tell different ones apart ---- */
  const number = (x, n) =>
    x === null || x === undefined || x === ""
      ? ""
      : Number.isFinite(+x)
        ? Number.isInteger(+x) && abs(x) < 1e15
          ? grouped(+x)
          : digits(+x, n)
        : `${x}`;
  function apart(values) {
    const told = values.filter((x) => x !== null && x !== undefined);
    for (let n = 4; n < 17; n++) {
      const shown = values.map((x) => number(x, n));
      if (new Set(told.map((x) => number(x, n))).size === new Set(told).size || n === 16)
        return shown;
    }
  }
  const percent = (x) =>
    x === null || x === undefined
      ? ""
      : `${minus((+(100 * x).toPrecision(2)).toLocaleString("en", { maximumFractionDigits: 12 }))} %`;

  /* ---- controls ---- */
  const all = (name) => [...new Set(rows.map((row) => row[name]).filter(Boolean))];
  const CHOICES = {
    type: ["What", Object.keys(TYPES), (v) => TYPES[v]],
    paper: [
      "Paper",
      [...Object.keys(D.papers), ...all("paper").filter((p) => !D.papers[p])],
      (v) => D.papers[v] || "Packages",
    ],
    item: ["Figure or table", items, (v) => `${D.papers[v.split("/")[0]]}, ${figure(v)}`],
    protocol: ["Protocol", all("protocol").sort(), (v) => v],
    verdict: ["Verdict or effect", all("verdict"), (v) => SAID[v] || v],
    how: ["How our number was made", all("how"), (v) => `${HOWS[v] || ""} ${SAID[v] || v}`],
    kind: ["Compared with", all("kind"), (v) => v],
  };
  const SORTS = {
    order: "as in the book",
    z: "largest z-score first",
    apart: "furthest from the paper first",
  };
  const FIRST = ["q", "paper", "item", "verdict", "type"]; // the others stand behind a fold
  const inputs = {},
    panel = make("div", { class: "board-controls" }),
    others = make("div", { class: "board-controls" }),
    more = make("details", {}, make("summary", {}, "More filters, order and chart"), others);
  function control(key, label, input) {
    input.id = `board-${key}`;
    inputs[key] = input;
    (FIRST.includes(key) ? panel : others).append(
      make("div", {}, make("label", { for: input.id }, label), input),
    );
    input.addEventListener("input", () => {
      delete state.row;
      if (widened && state.type === "all" && key !== "type") state.type = widened;
      widened = "";
      state[key] = input.value;
      state.page = 0;
      if (key === "paper" && state.item && !offered(state.item)) state.item = "";
      if (key !== "type" && !filter().length) {
        const { type } = state; // what the reader asks for may stand among rows that are not shown at first
        state.type = "all";
        if (!filter().length) state.type = type;
        else widened = type; // until the reader asks for something else
      }
      show();
    });
  }
  const options = (values, words) => values.map((v) => make("option", { value: v }, words(v)));
  const offered = (item) => !state.paper || item.startsWith(`${state.paper}/`);
  control(
    "q",
    "Words",
    make("input", { type: "search", placeholder: "OLH k=5", autocomplete: "off" }),
  );
  for (const [key, [label, values, words]] of Object.entries(CHOICES))
    control(
      key,
      label,
      make(
        "select",
        {},
        ...(key === "type" ? [] : [make("option", { value: "" }, "all")]),
        ...options(values, words),
      ),
    );
  control("sort", "Order", make("select", {}, ...options(Object.keys(SORTS), (v) => SORTS[v])));
  control(
    "axis",
    "Chart",
    make(
      "select",
      {},
      ...options(
        ["apart", "z"],
        (v) => ({ z: "z-score, this run − exact", apart: "relative, this run − paper" })[v],
      ),
    ),
  );
  const status = make("p", { role: "status", class: "board-status" }),
    canvas = make("canvas", {
      tabindex: "0",
      role: "application",
      "aria-label":
        "All comparisons by figure. Arrow keys walk through the points, Enter shows the row.",
    });
  const point = make("p", { class: "board-point", "aria-live": "polite" }),
    legend = make("p", { class: "board-legend" });
  const csv = button("CSV of these rows", take),
    clear = button("Clear all filters", forget);
  const body = make("tbody"),
    head = ["what", "series", "published", "this run ± se", "exact", "z", "from paper", "verdict"];
  const table = make(
    "div",
    { class: "board-table", role: "region", tabindex: "0", "aria-label": "Rows" },
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, ...head.map((h) => make("th", { scope: "col" }, h)))),
      body,
    ),
  );
  const pager = make("nav", { class: "board-pager", "aria-label": "Pages of rows" });
  legend.append(
    ...Object.entries({
      good: "agrees",
      warn: "differs, explained",
      bad: "differs",
      other: "other data",
      plain: "nothing printed",
    }).flatMap(([tone, words]) => [
      make("span", { class: "board-swatch", "data-tone": tone, "aria-hidden": "true" }),
      `${words}  `,
    ]),
    ...Object.entries(HOWS).map(([how, mark]) => `${mark} ${SAID[how] || how}  `),
  );
  host.replaceChildren(
    panel,
    more,
    make("div", { class: "board-buttons" }, csv, clear),
    canvas,
    legend,
    point,
    status,
    table,
    pager,
  );

  /* ---- state and filter ---- */
  let widened = "", // what was shown before a filter that needs all rows
    state = {},
    shown = [],
    drawn = [],
    at = -1;
  const START = { type: "compared", sort: "order", axis: "apart", page: 0 };
  /* Kinds of row, orders and charts are those that are offered; other choices may name what no row has. */
  const known = (key, value) =>
    ["type", "sort", "axis"].includes(key)
      ? [...inputs[key].options].some((o) => o.value === value)
      : key === "page" || key === "row" || Object.hasOwn(inputs, key);
  function restore() {
    state = { ...START };
    if (location.hash.startsWith(PREFIX))
      for (const [key, value] of new URLSearchParams(location.hash.slice(PREFIX.length)))
        if (value && known(key, value))
          state[key] = key === "page" ? max(0, floor(+value) || 0) : value;
    const row = state.row && rows.find((r) => r.id === state.row);
    if (row) Object.assign(state, { type: row.type, item: row.item });
    more.open = Object.keys(state).some(
      (key) => others.contains(inputs[key]) && state[key] !== START[key],
    );
    show();
    const place = row && /** @type {HTMLElement} */ (body.querySelector("[aria-current]"));
    if (!place) return;
    place.tabIndex = -1; // a keyboard goes on from there
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block: "center" });
  }
  const has = (row, key, value) => {
    if (key === "item" && row.affects) return row.affects.includes(value);
    if (key === "type" && value === "compared")
      return row.type === "number" && row.verdict !== UNPRINTED;
    return (key === "type" && value === "all") || row[key] === value;
  };
  function filter() {
    const words = (state.q || "")
        .toLowerCase()
        .split(/\s+/)
        .filter(Boolean)
        .map((w) => w.replace(/(\w)=(\w)/, "$1 = $2")),
      chosen = Object.keys(CHOICES).filter((key) => state[key]);
    const told = (text, w) => text.includes(w) || text.includes(w.replaceAll(" ", ""));
    const found = rows.filter(
      (row) =>
        chosen.every((key) => has(row, key, state[key])) && words.every((w) => told(row.text, w)),
    );
    if (SORTS[state.sort] && state.sort !== "order") {
      const size = (row) =>
        row[state.sort] === null || row[state.sort] === undefined ? -1 : abs(row[state.sort]);
      found.sort((a, b) => size(b) - size(a));
    }
    return found;
  }
  /* Why there are more rows than the page counts as numbers that agree or differ. */
  const uncounted = () => {
    if (state.type !== "compared") return "";
    const left = shown.filter(
      (row) => row.kind === "sign or order" || !COUNTED.includes(row.verdict),
    );
    return left.length
      ? ` ${grouped(left.length)} of them are not counted as numbers that agree or differ: signs, definitions, other data, or undecided.`
      : "";
  };
  const address = (changes = {}) => {
    const kept = Object.entries({ ...state, ...changes }).filter(
      ([key, value]) => value && value !== START[key],
    );
    return kept.length ? PREFIX + new URLSearchParams(kept) : "";
  };
  function line(row) {
    const [published, reproduced, exact] =
      row.type === "erratum" ? ["", "", ""] : apart([row.published, row.reproduced, row.exact]);
    const signs = { "=": "", "<=": "≤ ", ">=": "≥ " },
      where = row.link || pageOf(row.item),
      what =
        row.type === "number"
          ? `${D.papers[row.paper]}, ${figure(row.item)}`
          : [row.type, D.papers[row.paper] || "Packages", figure(row.item)]
              .filter(Boolean)
              .join(", ");
    const verdict = make(
      "td",
      { "data-label": "verdict", "data-tone": TONES[row.verdict] || "plain" },
      make("strong", {}, SAID[row.verdict] || row.verdict),
    );
    const made = [SAID[row.how] || row.how, row.kind && `compared with: ${row.kind}`];
    const told = [row.note, row.how && `How made: ${made.filter(Boolean).join("; ")}.`];
    const more = make("td", { colspan: "8" }, told.filter(Boolean).join(" "));
    const known =
      row.type === "number" && TONES[row.verdict] === "warn" ? errataOf[row.item] || [] : [];
    known.forEach(([id, title], i) =>
      more.append(
        i ? ", " : " Errata of this figure: ",
        make("a", { href: erratum(id), title }, id.match(/\d+$/)[0]),
      ),
    );
    const place =
      row.x === null || row.x === undefined
        ? ""
        : `, ${typeof row.x === "number" ? `x = ${number(row.x, 6)}` : row.x}`;
    const cells = [
      row.series + place,
      published ? (signs[row.relation] || "") + published : "",
      reproduced + (row.reproduced_se ? ` ±\u00a0${number(row.reproduced_se, 2)}` : ""),
      exact,
      number(row.z, 3),
      percent(row.apart),
    ];
    const current = row.id === state.row;
    const main = make(
      "tr",
      { id: `row-${row.id}`, "aria-current": current ? "true" : null },
      make(
        "th",
        { scope: "row", "data-label": "what" },
        where ? make("a", { href: where }, what) : what,
        " ",
        make(
          "a",
          {
            href: `${PREFIX}${new URLSearchParams({ row: row.id })}`,
            class: "board-link",
            "aria-label": `Link to this row, ${row.id}`,
          },
          "#",
        ),
      ),
      ...cells.map((text, i) => make("td", { "data-label": head[i + 1] }, text)),
      verdict,
    );
    return more.textContent ? [main, make("tr", { class: "board-more" }, more)] : [main];
  }
  function show() {
    shown = filter();
    const last = max(0, ceil(shown.length / PAGE) - 1);
    if (state.row)
      state.page = floor(
        max(
          0,
          shown.findIndex((row) => row.id === state.row),
        ) / PAGE,
      );
    state.page = min(state.page, last);
    for (const option of /** @type {HTMLSelectElement} */ (inputs.item).options)
      option.hidden = option.disabled = option.value !== "" && !offered(option.value);
    for (const [key, input] of Object.entries(inputs))
      if (input !== document.activeElement || input.value !== (state[key] || ""))
        input.value = state[key] || "";
    remember(state.row ? PREFIX + new URLSearchParams({ row: state.row }) : address());
    const some = shown.slice(state.page * PAGE, (state.page + 1) * PAGE),
      missing = state.row && !rows.some((row) => row.id === state.row);
    status.textContent =
      (missing ? `There is no row ${state.row}. ` : "") +
      (shown.length
        ? `${grouped(shown.length)} of ${grouped(rows.length)} rows; ${state.page * PAGE + 1} to ${state.page * PAGE + some.length} are shown.${uncounted()}`
        : "No row fits all filters.");
    body.replaceChildren(...some.flatMap(line));
    pager.replaceChildren(
      ...[
        ["First", 0],
        ["Previous", state.page - 1],
        ["Next", state.page + 1],
        ["Last", last],
      ].map(([words, page], i) => {
        const turn = () => {
          delete state.row;
          state.page = page;
          show();
          /** @type {HTMLElement} */ (pager.querySelector(`[data-page="${words}"]`)).focus();
        };
        const disabled = i < 2 ? state.page === 0 : state.page === last;
        return button(words, turn, { "data-page": words, disabled });
      }),
    );
    draw();
    host.dataset.state = "ready";
  }

  /* ---- chart: every comparison that is shown, by figure; height is the chosen number on an axis that is linear near 0 ---- */
  const AXES = {
    z: { unit: 1, least: 5, ticks: [0, 1, 2, 5, 20, 100, 1000], format: (v) => number(v, 3) },
    apart: { unit: 0.001, least: 1, ticks: [0, 0.01, 0.1, 1, 10, 100, 1000, 1e4], format: percent },
  };
  const bent = (v, axis, most) => (sign(v) * log1p(abs(v) / axis.unit)) / log1p(most / axis.unit);
  const paint = {
    "●": (c, x, y, r) => c.arc(x, y, r, 0, 7),
    "■": (c, x, y, r) => c.rect(x - r, y - r, 2 * r, 2 * r),
    "▲": (c, x, y, r) => {
      c.moveTo(x, y - r);
      c.lineTo(x + r, y + r);
      c.lineTo(x - r, y + r);
      c.closePath();
    },
    "◆": (c, x, y, r) => {
      c.moveTo(x, y - r);
      c.lineTo(x + r, y);
      c.lineTo(x, y + r);
      c.lineTo(x - r, y);
      c.closePath();
    },
    "✕": (c, x, y, r) => {
      c.moveTo(x - r, y - r);
      c.lineTo(x + r, y + r);
      c.moveTo(x + r, y - r);
      c.lineTo(x - r, y + r);
    },
    "+": (c, x, y, r) => {
      c.moveTo(x - r, y);
      c.lineTo(x + r, y);
      c.moveTo(x, y - r);
      c.lineTo(x, y + r);
    },
  };
  function draw() {
    const ratio = globalThis.devicePixelRatio || 1,
      width = max(280, host.clientWidth),
      height = 260,
      left = 76,
      top = 22,
      bottom = 26,
      style = getComputedStyle(host),
      axis = AXES[state.axis] || AXES.z;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    canvas.style.height = `${height}px`;
    const c = canvas.getContext("2d"),
      ink = style.getPropertyValue("--pst-color-text-base") || "#000",
      faint = style.getPropertyValue("--board-faint");
    c.scale(ratio, ratio);
    c.font = "12px sans-serif";
    const numbers = shown
      .filter((row) => row.type === "number" && row[state.axis] !== null)
      .sort((a, b) => a.place - b.place);
    canvas.hidden = legend.hidden = point.hidden = !numbers.length;
    const most = 1.1 * numbers.reduce((far, row) => max(far, abs(row[state.axis])), axis.least);
    const Y = (v) => top + (height - bottom - top) * (0.5 - 0.5 * bent(v, axis, most));
    for (const tick of axis.ticks.filter((v) => v <= most).flatMap((v) => (v ? [v, -v] : [0]))) {
      c.strokeStyle = faint;
      c.lineWidth = tick ? 0.5 : 1.2;
      c.beginPath();
      c.moveTo(left, Y(tick));
      c.lineTo(width, Y(tick));
      c.stroke();
      c.fillStyle = ink;
      c.textAlign = "right";
      c.fillText(axis.format(tick), left - 5, Y(tick) + 4);
    }
    const there = items.filter((item) => numbers.some((row) => row.item === item)),
      wide = (width - left - 6) / max(1, there.length),
      seen = {},
      size = {};
    for (const row of numbers) size[row.item] = (size[row.item] || 0) + 1;
    drawn = numbers.map((row) => {
      const i = (seen[row.item] || 0) + 1;
      seen[row.item] = i;
      return {
        row,
        x:
          left +
          4 +
          wide *
            (there.indexOf(row.item) +
              0.08 +
              0.84 * (size[row.item] > 1 ? (i - 1) / (size[row.item] - 1) : 0.5)),
        y: Y(row[state.axis]),
      };
    });
    let written = 0; // where the last name of a figure ends
    c.fillStyle = ink;
    there.forEach((item, i) => {
      const paper = item.split("/")[0],
        start = left + 4 + wide * i;
      if (!i || paper !== there[i - 1].split("/")[0]) {
        if (i) {
          c.strokeStyle = ink;
          c.lineWidth = 0.6;
          c.beginPath();
          c.moveTo(start, top - 14);
          c.lineTo(start, height - bottom);
          c.stroke();
        }
        const room = wide * there.filter((one) => one.split("/")[0] === paper).length - 6;
        let name = D.papers[paper] || "Packages";
        while (name && c.measureText(name).width > room)
          name = name.length > 5 ? `${name.slice(0, -2)}…` : "";
        c.textAlign = "left";
        c.fillText(name, start + 3, top - 6);
      }
      const name = figure(item).replace("Figure ", "").replace("Table ", "T"),
        half = c.measureText(name).width / 2,
        middle = left + 4 + wide * (i + 0.5);
      c.textAlign = "center";
      if (middle - half > written + 5) {
        c.fillText(name, middle, height - bottom + 15);
        written = middle + half;
      }
    });
    for (const { row, x, y } of drawn) {
      const mark = HOWS[row.how] || "●",
        colour = style.getPropertyValue(`--board-${TONES[row.verdict] || "plain"}`);
      c.beginPath();
      paint[mark](c, x, y, row === drawn[at]?.row ? 5 : 2.6);
      c.globalAlpha = drawn.length > 3000 ? 0.5 : 0.85;
      if ("✕+".includes(mark)) {
        c.strokeStyle = colour;
        c.lineWidth = 1.3;
        c.stroke();
      } else {
        c.fillStyle = colour;
        c.fill();
      }
    }
    c.globalAlpha = 1;
    if (drawn[at]) {
      c.strokeStyle = ink;
      c.lineWidth = 2;
      c.beginPath();
      c.arc(drawn[at].x, drawn[at].y, 8, 0, 7);
      c.stroke();
    }
    host.dataset.points = `${drawn.length}`;
  }
  const said = ({ row }) =>
    `${D.papers[row.paper]}, ${figure(row.item)}, ${row.series}${row.x === null ? "" : `, x = ${number(row.x, 6)}`}: ${state.axis === "z" ? `z = ${number(row.z, 3)}` : percent(row.apart)}; ${SAID[row.verdict] || row.verdict}; ${row.how}`;
  function tell(index) {
    at = index;
    point.replaceChildren(
      ...(drawn[at]
        ? [
            said(drawn[at]),
            " ",
            make(
              "a",
              { href: `${PREFIX}${new URLSearchParams({ row: drawn[at].row.id })}` },
              "row",
            ),
          ]
        : ["Point at or press the chart, or walk through it with the arrow keys."]),
    );
    draw();
  }
  function nearest({ offsetX, offsetY }) {
    let best = -1,
      least = 400;
    drawn.forEach(({ x, y }, i) => {
      const far = (x - offsetX) ** 2 + (y - offsetY) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  }
  canvas.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    if (i !== at && i >= 0) tell(i);
  });
  canvas.addEventListener("click", (event) => {
    const i = nearest(event);
    if (i >= 0) location.hash = `${PREFIX}${new URLSearchParams({ row: drawn[i].row.id })}`;
  });
  canvas.addEventListener("keydown", (event) => {
    const step = {
      ArrowRight: 1,
      ArrowLeft: -1,
      PageDown: 100,
      PageUp: -100,
      Home: -1e9,
      End: 1e9,
    }[event.key];
    if (step) {
      event.preventDefault();
      tell(max(0, min(drawn.length - 1, at + step)));
    } else if (event.key === "Enter" && drawn[at])
      location.hash = `${PREFIX}${new URLSearchParams({ row: drawn[at].row.id })}`;
    else if (event.key === "Escape") tell(-1);
  });

  /* ---- to take away ---- */
  function take() {
    const names = [
      "type",
      "id",
      "paper",
      "item",
      "protocol",
      "series",
      "x",
      "relation",
      "published",
      "published_error",
      "reproduced",
      "reproduced_se",
      "exact",
      "z",
      "apart",
      "verdict",
      "note",
      "how",
      "kind",
    ];
    const field = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const text = `${[names, ...shown.map((row) => names.map((name) => field(`${row[name] ?? ""}`)))]
      .map((cells) => cells.join(","))
      .join("\n")}\n`;
    const link = make("a", {
      href: URL.createObjectURL(new Blob([text], { type: "text/csv" })),
      download: "ldpkit-comparisons.csv",
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  function forget() {
    state = { ...START };
    at = -1;
    show();
    inputs.q.focus();
  }
  addEventListener("hashchange", () => {
    if (location.hash.startsWith(PREFIX)) restore();
  });
  resized(host, draw);
  themed(draw);
  restore();
  tell(-1);
})();
