/* Live pages, second part: the form of parameters. A control for each, by its type; the parameters' cell is the truth, and both
   stay in step. Meaning, range, stops and the paper's value come from the parameter's comment (book/ldpbook/parameters.py). */
(() => {
  "use strict";
  const { button, make } = ldpkit.base;

  /* ---- values: the same rules as book/ldpbook/parameters.py ---- */
  const INTEGER = /^[+-]?(0(_?0)*|[1-9](_?\d)*)$/,
    TEXT = /^("[^"\\\n]*"|'[^'\\\n]*')$/;
  const FLOAT = /^[+-]?(\d(_?\d)*\.?|(\d(_?\d)*)?\.\d(_?\d)*)([eE][+-]?\d+)?$/,
    NUMBER = { test: (v) => INTEGER.test(v) || (/[.eE]/.test(v) && FLOAT.test(v)) };
  const ODD = /[^\S ]/; // other blanks than the space: Python takes some for the end of a line, and some for no blank at all
  /* Lists of numbers in a list, as JSON writes them: no name, no call, one line. */
  function numbers(value) {
    try {
      return (
        /^\[(\[[-+\d.e, ]*\](, ?|(?=\])))+\]$/i.test(value) &&
        JSON.parse(value).flat().every(Number.isFinite)
      );
    } catch {
      return false;
    }
  }
  const plain = (value) => Number(value.replaceAll("_", ""));
  const same = (a, b) => a === b || plain(a) === plain(b);

  function fits(p, item) {
    if (p.kind === "text")
      return TEXT.test(item) && (!p.choices.length || p.choices.includes(item.slice(1, -1)));
    if (p.kind === "boolean") return item === "True" || item === "False";
    if (!(p.kind === "integer" ? INTEGER : NUMBER).test(item)) return false;
    if (!Number.isFinite(plain(item))) return false;
    /** @type {any} */ // whole numbers are exact, as in Python
    const x = p.kind === "integer" ? BigInt(item.replaceAll("_", "")) : plain(item);
    return (
      (!p.choices.length || p.choices.includes(plain(item))) &&
      (p.low === null || (p.low_open ? x > p.low : x >= p.low)) &&
      (p.high === null || (p.high_open ? x < p.high : x <= p.high)) &&
      !(p.step && x % BigInt(p.step))
    );
  }
  /* The elements of a list as it stands in code; null if it is none. */
  function elements(value) {
    const list = value.match(/^\[(.*?),?\s*\]$/s);
    return (
      list && (TEXT.test(list[1].trim()) ? [list[1]] : list[1].split(",")).map((v) => v.trim())
    );
  }
  function problem(p, value) {
    if (value === p.literal || value === p.built || (p.none && value === "None")) return "";
    const list = elements(value),
      items = list || [value],
      whole = /^[[({].*[\])}]$/s.test(value);
    const good = ODD.test(value.replace(/"[^"\n]*"|'[^'\n]*'/g, ""))
      ? false
      : p.kind === "any"
        ? whole || NUMBER.test(value) || TEXT.test(value)
        : p.kind === "other"
          ? whole && (!p.many || /^\[\s*[[({]/.test(value))
          : p.many === !!list && !(p.pair && items.length !== 2) && items.every((v) => fits(p, v));
    return good ? "" : `${p.name} must be ${p.expects}.`;
  }
  /* What is meant by a number as readers type it: 1e6 and 10^6 are whole numbers, and 1,000,000 is one number. */
  function meant(p, text) {
    const v = text.replace(/^([+-]?)10\^(?=[+-]?\d{1,3}$)/, (_, sign) => `${sign}1e`);
    if (p.kind !== "integer" || !/^[+-]?\d+(\.\d*)?e\+?\d+$/i.test(v) || !Number.isSafeInteger(+v))
      return v;
    return String(+v).replace(/\B(?=(\d{3})+$)/g, Math.abs(+v) < 1e4 ? "" : "_");
  }
  /* What a reader typed, as it shall stand in the cell. */
  function literal(p, text) {
    const value = text.trim();
    if (!problem(p, value) || !["integer", "number"].includes(p.kind)) return value;
    if (p.many)
      return elements(value)
        ? `[${elements(value)
            .map((v) => meant(p, v))
            .join(", ")}]`
        : value;
    return meant(p, /^[+-]?\d{1,3}(,\d{3})+$/.test(value) ? value.replaceAll(",", "_") : value);
  }
  /* An address may come from anybody, and what it sets is run as code: only values that the form offers, and numbers. */
  function refusal(p, value) {
    if (
      p.kind === "any" ||
      (p.kind === "text" && !p.choices.length) ||
      (p.kind === "other" && !numbers(value))
    )
      return `${p.name} can be set in the form only.`;
    return problem(p, value);
  }

  /* What an address sets, in names and values as they shall stand in the cell, and why the rest is refused. */
  function asked(parameters, query) {
    const set = [],
      refused = [];
    for (const [name, given] of new URLSearchParams(query)) {
      const p = parameters.find((q) => q.name === name),
        value = p && literal(p, given);
      const why = p ? refusal(p, value) : `${name.slice(0, 40)} is no parameter of this page.`;
      if (why) refused.push(why);
      else set.push([name, value]);
    }
    return { set, refused };
  }

  const assignment = (name) => new RegExp(`^${name} = (.+?)(?=  #|$)`, "m");
  const valueIn = (code, name) => (code.match(assignment(name)) || [])[1];
  const withValue = (code, name, value) =>
    code.replace(assignment(name), () => `${name} = ${value}`);

  /* ---- controls: what stands in the form beside the line of text, or in its place; `show` tells them what the cell says ---- */
  const CONTROLS = {
    slider(p, id, write) {
      const range = make("input", {
        type: "range",
        min: 0,
        max: p.stops.length - 1,
        step: 1,
        "aria-label": `${p.name}, as a slider`,
        "aria-describedby": `${id}-help`,
        oninput: () => write(p.stops[range.value]),
        onkeydown: (e) => e.key === "Enter" && e.preventDefault(), // a slider has no line that ends
      });
      const mark = button(`${p.by} ${p.mark}`, () => write(p.mark), {
        class: "live-paper",
        "aria-label": `Set ${p.name} to ${p.mark}, the value of the ${p.by}`,
      });
      const tip = make("span", { class: "live-tip", "aria-hidden": "true" }, "▲"), // at the value, the words near it
        slider = make("div", { class: "live-slider" }, range, tip, mark);
      slider.style.setProperty("--at", `${p.stops.indexOf(p.mark) / (p.stops.length - 1)}`);
      const off = (stop, x) => Math.abs(plain(stop) - x);
      const show = (value) => {
        const x = plain(value);
        if (Number.isFinite(x))
          range.value = p.stops.reduce(
            (best, stop, i) => (off(stop, x) < off(p.stops[best], x) ? i : best),
            0,
          );
        range.setAttribute("aria-valuetext", value);
      };
      return { parts: [slider], show };
    },
    choice(p, _id, write) {
      const words = (stop) => (stop === p.mark ? `${stop} (the ${p.by}’s)` : stop);
      const input = make(
        "select",
        { onchange: () => write(input.value) },
        ...p.stops.map((stop) => make("option", { value: stop }, words(stop))),
      );
      return {
        input,
        show: (value) => {
          input.value = p.stops.find((stop) => same(stop, value.replaceAll("'", '"'))) ?? "";
        },
      };
    },
    flag(_p, _id, write) {
      const input = make("input", {
        type: "checkbox",
        onchange: () => write(input.checked ? "True" : "False"),
      });
      return {
        input,
        show: (value) => {
          input.checked = value === "True";
          input.indeterminate = !["True", "False"].includes(value);
        },
      };
    },
    chips(p, _id, write) {
      const row = make("div", {
        class: "live-chips",
        role: "group",
        "aria-label": `Elements of ${p.name}`,
      });
      let now = [];
      /* In again at its place among the others, if they stand in an order. */
      function joined(items, value) {
        const x = items.map(plain),
          falling = x.length > 1 && x[0] > x[1],
          at = x.findIndex((v) => (falling ? v < plain(value) : v > plain(value)));
        return at < 0 ? [...items, value] : items.toSpliced(at, 0, value);
      }
      const put = (items) => write(`[${items.join(", ")}]`);
      function chip(value) {
        const among = () => now.findIndex((v) => same(v, value));
        const press = ({ target }) => {
          const i = among(),
            place = [...row.children].indexOf(target);
          put(i < 0 ? joined(now, value) : now.toSpliced(i, 1));
          /** @type {HTMLElement} */ (row.children[place] || row.lastChild).focus();
        };
        return button(value, press, { "aria-pressed": String(among() >= 0) });
      }
      const more = make("input", {
        type: "text",
        size: 6,
        placeholder: "add …",
        autocomplete: "off",
        "aria-label": `Add to ${p.name}`,
        onkeydown: (e) => {
          if (e.key === "Enter") {
            e.preventDefault();
            add();
          }
        },
        onchange: () => add(),
      });
      function add() {
        const value = meant(p, more.value.trim());
        if (!value || now.some((v) => same(v, value))) more.value = "";
        else if (put(joined(now, value))) {
          more.value = "";
          more.focus();
        }
      }
      let drawn;
      const show = (value) => {
        if (value === drawn) return; // a press that also leaves the line of text must find its chip
        drawn = value;
        now = elements(value) || [];
        const rest = now.filter((v) => !p.stops.some((stop) => same(stop, v)));
        row.replaceChildren(
          ...rest.reduce(joined, p.stops).map(chip),
          ...(p.kind === "text" ? [] : [more]),
        );
      };
      return { parts: [row], show };
    },
    text: () => ({ show() {} }),
  };

  class Form {
    constructor(parameters, cell, live) {
      this.cell = cell;
      this.first = ldpkit.live.here ? live.page.browser : {};
      this.papers = parameters.some((p) => p.paper); // a lesson has no paper
      this.fields = parameters.map((p) => this.field(p));
      const reset = button("Reset to the book’s values", () => live.reset(), {
        id: "live-reset",
      });
      const go = make(
        "button",
        { type: "submit", class: "live-main" },
        "▶ Run all with these values",
      );
      this.element = make(
        "form",
        {
          id: "live-form",
          tabindex: "-1",
          "aria-label": "Parameters",
          onsubmit: (e) => {
            e.preventDefault();
            live.runAll();
          },
        },
        ...this.fields.map((f) => f.box),
        make("p", { class: "live-buttons" }, go, " ", live.halt, live.look, reset),
      );
    }
    field(p) {
      const id = `live-p-${p.name}`;
      /** @type {Record<string, any>} */
      const field = { p };
      const paper = p.paper
        ? ` ${p.paper[0].toUpperCase()}${p.paper.slice(1)}.`
        : this.papers
          ? " The paper gives none."
          : "";
      const built = same(p.built, p.literal)
        ? ""
        : ` The book: ${p.literal}. This site was built with ${p.built}.`;
      const first =
        p.name in this.first && !same(this.first[p.name], p.built)
          ? ` Here it starts with ${this.first[p.name]}, which takes less time.`
          : "";
      const help = make(
        "p",
        { class: "live-help", id: `${id}-help` },
        `${p.meaning}. Give ${p.expects}.${paper}${built}${first}`,
      );
      field.bad = make("p", { class: "live-bad", id: `${id}-bad`, role: "alert" });
      /* Whether a value could stand in the cell, which is then read again. */
      const put = (value) => {
        const good = this.write(field, value);
        if (good) this.read();
        return good;
      };
      Object.assign(field, CONTROLS[p.control](p, id, put));
      if (!field.input) {
        const show = field.show;
        const line = make("input", {
          type: "text",
          autocomplete: "off",
          spellcheck: "false",
          oninput: () => this.write(field, line.value),
          onchange: () => put(line.value),
        });
        Object.assign(field, { input: line, line });
        field.show = (value) => {
          show(value);
          if (document.activeElement !== line) line.value = value;
        };
      }
      for (const [name, value] of Object.entries({
        id,
        name: p.name,
        "aria-describedby": `${id}-help ${id}-bad`,
      }))
        field.input.setAttribute(name, value);
      field.box = make(
        "div",
        { class: "live-field", "data-control": p.control },
        make("label", { for: id }, p.name),
        make("div", { class: "live-control" }, ...(field.parts || []), field.input),
        help,
        field.bad,
      );
      return field;
    }
    judge({ bad, input }, words) {
      bad.textContent = words;
      input.setAttribute("aria-invalid", String(!!words));
      return !words;
    }
    /* Put a value into the cell, or say beside the control why it cannot stand there. */
    write(field, text) {
      const value = literal(field.p, text);
      if (!this.judge(field, problem(field.p, value))) return false;
      const code = withValue(this.cell.code, field.p.name, value);
      if (code !== this.cell.code) this.cell.set(code);
      return true;
    }
    /* Whether all values can be run; the first that cannot gets the focus. */
    valid() {
      const wrong = this.fields.find(
        (f) =>
          !this.write(f, f.line ? f.line.value : (valueIn(this.cell.code, f.p.name) ?? f.p.built)),
      );
      if (wrong) wrong.input.focus();
      return !wrong;
    }
    /* The cell is the truth: show what it says. A line that was refused stays as it was typed until its value changes, or for `anew`. */
    read(anew = false) {
      for (const f of this.fields) {
        const value = valueIn(this.cell.code, f.p.name);
        if (value === undefined || (!anew && value === f.seen && f.bad.textContent)) continue;
        f.seen = value;
        f.show(value);
        if (document.activeElement !== f.input) this.judge(f, problem(f.p, literal(f.p, value)));
      }
    }
  }

  Object.assign(ldpkit.live, { Form, asked, problem, refusal, literal, same, valueIn, withValue });
})();
