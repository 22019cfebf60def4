/* Live pages, third part: the page's cells, the scratch cells of its exercises, and the bar that runs them. */
(() => {
  "use strict";
  const { button, make } = ldpkit.base,
    { ask, Kernel, Form, asked, refusal, literal, same, valueIn, withValue, root } = ldpkit.live,
    here = ldpkit.live.here === true; // this page runs itself, without a server of ours

  const lab = (path) =>
    here
      ? ""
      : make(
          "a",
          { href: `${root}lab/tree/${path}`, target: "_blank", rel: "noopener" },
          "Open in JupyterLab",
        );
  /* HTML that a cell made, without whatever would run: scripts, frames, listeners, addresses that are code. */
  function harmless(html) {
    const { body } = new DOMParser().parseFromString(html, "text/html");
    for (const one of body.querySelectorAll("*")) {
      if (one.matches("script, iframe, object, embed, link, meta, base, form, svg, math"))
        one.remove();
      for (const { name, value } of [...one.attributes])
        if (
          /^(on|srcdoc|srcset)/i.test(name) ||
          (/^(href|src|action|data)$/i.test(name) && !/^(#|data:image\/)/.test(value))
        )
          one.removeAttribute(name);
    }
    return [...body.childNodes];
  }
  const text = (data) => (Array.isArray(data) ? data.join("") : data);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of a terminal begin with one
  const plain = (data) => data.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "");
  /* A carriage return goes back to the start of its line: progress bars. One at the end waits for what follows. */
  const settled = (data) => data.replace(/\r+\n/g, "\n").replace(/[^\n]*\r(?=[^\r\n])/g, "");
  const duration = (s) =>
    s < 1 ? "a second" : s < 100 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`;
  const several = (words, list) =>
    list.length ? [`${words}${list.length > 1 ? "s" : ""} ${list.join(", ")}`] : [];
  /* In words, some cells of the page and some scratch cells. */
  const named = (pieces) =>
    [
      ...several(
        "cell",
        pieces.filter((c) => Number.isInteger(c.index)).map((c) => c.index + 1),
      ),
      ...several(
        "scratch cell",
        pieces.filter((c) => !Number.isInteger(c.index)).map((c) => c.number),
      ),
    ].join(" and ");
  const badge = (words) => make("span", { id: "live-badge", class: "live-badge" }, words);

  const NONE = { other: 0, all: 0, verdicts: 0 };
  /* Mark the cells of tables that differ from those of the book; return how many, how many there are, and how often a verdict changed. */
  function compared(published, fresh) {
    const rows = (place) =>
        [...(place?.querySelectorAll(".text_html table") ?? [])].map((table) => [...table.rows]),
      book = rows(published);
    let all = 0,
      other = 0,
      verdicts = 0;
    for (const [t, table] of rows(fresh).entries())
      for (const [r, row] of table.entries())
        for (const [c, cell] of [...row.cells].entries()) {
          const was = book[t]?.[r]?.cells[c];
          all++;
          if (was?.textContent.trim() === cell.textContent.trim()) continue;
          other++;
          if (r && table[0].cells[c]?.textContent.trim() === "verdict") verdicts++;
          cell.classList.add("live-moved");
          cell.title = was ? `In the book: ${was.textContent.trim()}` : "Not in the book";
        }
    return book.length ? { other, all, verdicts } : NONE;
  }

  /* ---- outputs ---- */
  class Outputs {
    constructor(place, label, alt, twin) {
      this.place = place;
      this.label = label;
      this.alt = alt;
      this.twin = twin;
      this.urls = [];
    }
    clear() {
      this.urls.forEach(URL.revokeObjectURL);
      this.urls = [];
      this.last = null;
      this.place.replaceChildren();
    }
    say(...words) {
      this.place.append(make("p", { role: "alert" }, ...words));
    }
    link(words, name, type, data) {
      const url = URL.createObjectURL(new Blob([data], { type }));
      this.urls.push(url);
      return make("a", { href: url, download: name }, words);
    }
    show(type, content) {
      if (type === "clear_output") return this.clear();
      if (type === "stream") {
        if (!this.last || this.last.name !== content.name) {
          this.last = {
            name: content.name,
            raw: "",
            pre: make("pre", { class: `live-stream live-${content.name}` }),
          };
          this.place.append(this.last.pre);
        }
        this.last.raw = settled(this.last.raw + plain(content.text));
        this.last.pre.textContent =
          this.last.raw.trimEnd() + (this.last.raw.endsWith("\n") ? "\n" : "");
        this.last.pre.hidden = !this.last.raw.trim(); // a bar that was wiped away
        return;
      }
      this.last = null;
      if (type === "error") {
        const trace = make(
          "pre",
          { tabindex: "0", "aria-label": "traceback" },
          plain(content.traceback.join("\n")),
        );
        this.place.append(
          make(
            "div",
            { class: "live-error", role: "alert" },
            make("strong", {}, `${content.ename}: ${content.evalue}`),
            trace,
          ),
        );
      } else this.rich(content.data);
    }
    rich(data) {
      const svg = data["image/svg+xml"],
        png = data["image/png"],
        html = data["text/html"],
        csv = data["text/csv"];
      if (svg || png) {
        const [words, mime, bytes] = svg
          ? ["SVG", "image/svg+xml", text(svg)]
          : ["PNG", "image/png", Uint8Array.from(atob(text(png)), (c) => c.charCodeAt(0))];
        const links = make(
          "p",
          { class: "live-links" },
          this.link(words, `figure.${words.toLowerCase()}`, mime, bytes),
        );
        if (csv) links.append(" · ", this.link("data (CSV)", "figure.csv", "text/csv", text(csv)));
        const image = make("img", { src: links.querySelector("a").href, alt: this.alt });
        const joined =
          csv &&
          data["application/vnd.ldpkit.figure+json"] &&
          this.twin("overlay", text(csv), this.label.replace("Your run: ", ""));
        this.place.append(
          make(
            "figure",
            { class: "live-figure", "data-run-result": true },
            joined
              ? make("details", {}, make("summary", {}, "Your run as a picture"), image)
              : image,
            links,
          ),
        );
        if (csv) this.place.lastChild.dataset.csv = text(csv);
      } else if (html) {
        const box = make("div", { class: "output text_html" });
        box.append(...harmless(text(html)));
        box.querySelectorAll("table").forEach((table) => table.classList.add("table")); // as the theme does at load
        this.place.append(box);
        ldpkit.cards?.(this.place);
      } else if (data["text/plain"])
        this.place.append(make("pre", { class: "live-result" }, text(data["text/plain"])));
    }
  }

  /* ---- whatever has code and shows what comes out ---- */
  class Piece {
    index; // of a cell its place on the page, of a scratch cell or a solution its name
    number; // of the exercise
    checks; // whether the code checks an answer
    source; // the code as it is in the book
    sent; // the code as it was when the run was asked for
    title;
    place; // of the outputs
    outputs;
    mark;
    undo;
    constructor(live, data) {
      Object.assign(this, data);
      this.live = live;
      this.code = data.source;
      this.state = "";
    }
    /* What its kind does with typed code, and when it shall run. */
    set(_code, _typed = false) {}
    start() {}
    /* Run it; whoever waits at the code sees what it says. */
    async press() {
      await this.start();
      if (document.activeElement.closest(".cell, .live-aside")?.contains(this.undo))
        this.place?.scrollIntoView({ block: "nearest" });
    }
    /* Run `code` and show what it says in this piece's outputs; `first` is called before each part. */
    follow(kernel, code, first = () => {}) {
      this.error = this.interrupted = undefined;
      return kernel.run(
        code,
        (type, content) => {
          const check =
            this.checks &&
            content.ename === "AssertionError" &&
            unmet(this.code, content.traceback);
          if (type === "error")
            [this.error, this.interrupted] = [
              check ? `the check ${check} fails.` : `${content.ename}: ${content.evalue}`,
              content.ename === "KeyboardInterrupt",
            ];
          if (
            content.data &&
            Object.keys(content.data).every((m) => m.startsWith("application/papermill"))
          )
            return;
          first();
          const verdicts = content.data?.["application/vnd.ldpkit.conditions+json"];
          if (verdicts) ldpkit.conditions(verdicts, this.live.told.books);
          if (check) this.outputs.say("Not yet: the check ", make("code", {}, check), " fails.");
          else this.outputs.show(type, content);
          if (type === "stream" && content.text.includes("\r"))
            this.live.heard(this.outputs.last.raw);
        },
        this.title,
      );
    }
    set_state(state, words) {
      this.state = state;
      if (this.mark) this.mark.textContent = words;
    }
    forget() {
      this.set_state("", "");
    }
    /* What stands below the code: what runs it, what undoes edits, and how the last run ended. */
    tools(words, label, ...more) {
      this.undo = button("Undo edits", () => this.set(this.source), {
        hidden: true,
        "aria-label": `Undo the edits of ${this.title}`,
      });
      this.mark = make("span", { class: "live-mark" });
      const run = button(words, () => this.press(), { class: "live-run", "aria-label": label });
      return make("div", { class: "live-tools" }, run, ...more, this.undo, this.mark);
    }
    area(label) {
      return make("textarea", {
        class: "live-code",
        spellcheck: "false",
        autocapitalize: "off",
        "aria-label": label,
        oninput: ({ target }) => this.set(target.value, true),
        onkeydown: (e) => {
          if ((e.shiftKey || e.ctrlKey || e.metaKey) && e.key === "Enter") {
            e.preventDefault();
            this.press();
          }
        },
      });
    }
  }

  /* ---- one cell of the page; cells the page does not show are run all the same ---- */
  class Cell extends Piece {
    constructor(data, live) {
      super(live, data);
      this.title = `cell ${data.index + 1}`;
      this.node = document.getElementById(`cell-${data.index}`);
      this.input = this.node?.querySelector(".cell_input");
      this.published = this.node?.querySelector(".cell_output");
      if (this.input) this.dress();
    }
    dress() {
      this.code_shown = /** @type {HTMLElement} */ (
        this.input.querySelector("div.highlight") || this.input.querySelector("pre")
      );
      this.editor = this.area(`Code of ${this.title}`);
      this.editor.hidden = true;
      this.edit = button("Edit", () => this.open(), { "aria-label": `Edit ${this.title}` });
      this.code_shown.after(this.editor);
      this.input.append(this.tools("▶ Run", `Run ${this.title}`, this.edit));
    }
    start() {
      return this.live.runTo(this);
    }
    open() {
      this.show_editor();
      this.editor.setSelectionRange(0, 0); // with the first line in sight
      this.editor.focus({ preventScroll: true });
      this.editor.scrollIntoView({ block: "nearest" });
    }
    show_editor() {
      this.code_shown.hidden = this.edit.hidden = true;
      this.editor.hidden = false;
      this.editor.value = this.code;
      this.grow();
    }
    grow() {
      this.editor.rows = this.code.split("\n").length;
    }
    set(code, typed = false) {
      this.code = code;
      if (this.input) {
        if (!typed) this.show_editor();
        this.undo.hidden = code === this.source;
        this.grow();
      }
      this.live.edited(this);
    }
    /* Put this run's output beside the published one. */
    output() {
      if (!this.here) {
        this.here = make("div", { class: "live-new-output" });
        this.label = make("p", { class: "live-label" });
        this.fresh = make(
          "section",
          { class: "live-new", "aria-label": "Output of your run" },
          this.label,
          this.here,
        );
        this.compare = this.place = make("div", {
          class: "live-compare",
          id: `live-output-${this.index}`,
          tabindex: "-1",
        });
        if (this.published) {
          this.published.replaceWith(this.compare);
          this.compare.append(
            make(
              "section",
              { class: "live-published", "aria-label": "Output of the built book" },
              make("p", { class: "live-label" }, "In the book"),
              this.published,
            ),
          );
          const made = this.node.querySelector(".made-by");
          if (made) this.compare.firstElementChild.append(made);
        } else if (this.node) this.node.append(this.compare);
        else this.live.hidden.append(this.compare);
        this.compare.append(this.fresh);
      }
      const { words } = this.live.told;
      this.label.textContent = `Your run: ${words}`;
      return new Outputs(
        this.here,
        this.label.textContent,
        `Figure of your run, ${words}. The book's: ${this.alt()}`,
        (...what) => this.twin(...what),
      );
    }
    /* The book's figure takes this run into its own axes, if it is one that can (see twin.js): then one chart has the whole width. */
    twin(what, ...given) {
      const host = this.published?.querySelector("[data-twin]"),
        { twin } = globalThis.ldpkit;
      if (!host || !twin) return false;
      this.compare.classList.add("live-joined");
      twin[what](host, ...given);
      return true;
    }
    alt() {
      const image = this.published?.querySelector("img");
      return image ? image.alt : "none.";
    }
    forget() {
      super.forget();
      if (!this.here) return;
      this.outputs.clear();
      this.twin("clear");
      if (this.published) {
        const made = this.compare.querySelector(".live-published > .made-by");
        this.compare.replaceWith(this.published);
        if (made) this.published.after(made);
      } else this.compare.remove();
      this.here = null;
    }
    async run(kernel) {
      this.set_state("running", "running …");
      this.ran = this.sent;
      const before = this.here ? this.here.offsetHeight : 0;
      this.outputs = this.output();
      this.here.style.minHeight = `${before}px`; // the page does not jump while a figure is made again
      this.outputs.clear();
      this.compare.hidden = true;
      const good = await this.follow(kernel, this.sent, () => {
        this.compare.hidden = false;
      });
      this.here.style.minHeight = "";
      if (!good && this.outputs.last?.raw.includes("%|")) this.outputs.last.pre.remove(); // a bar that stands still
      const empty = !this.here.querySelector(":scope > :not([hidden])");
      this.compare.hidden = !this.published && empty;
      this.moved = good ? compared(this.published, this.here) : NONE;
      const { other, all, verdicts } = this.moved;
      if (all)
        this.label.textContent += `. ${other} of ${all} cells of its table differ${verdicts ? `, ${verdicts} of them verdicts on statements` : ""}.`;
      if (this.published && empty)
        this.here.append(make("p", {}, good ? "No output." : "Stopped."));
      this.set_state(good ? "ran" : "failed", good ? "✓ ran" : "✗ stopped");
      return good;
    }
  }

  /* ---- an exercise's scratch cell, or a solution: it sees the page's names and leaves none of its own among them ---- */
  const ASIDE = (code) => `def _aside(code):
    shell = get_ipython()
    kept = {name: value for name, value in shell.user_ns.items() if name != "_aside"}
    try:
        shell.run_cell(code)
    finally:
        shell.user_ns.clear()
        shell.user_ns.update(kept)
_aside(${JSON.stringify(code)})`;
  const CHECKS = /^\s*assert /m,
    OPEN = /(?:^|=|\breturn|,)[ \t]*\.\.\.[ \t]*(?:,|#|$)/m; // what a reader shall replace; an index such as x[..., 0] is none
  /* The line of `code` whose assertion failed, if the traceback shows it; IPython shows other lines, too, and marks this one. */
  function unmet(code, traceback) {
    const lines = plain(traceback.join("\n")).split("\n"),
      arrow = /^-+> *\d+ /,
      marked = lines.filter((line) => arrow.test(line));
    return (marked.length ? marked : lines)
      .map((line) => line.replace(arrow, "").trim())
      .findLast((line) => line.startsWith("assert ") && code.includes(line))
      ?.replace(/ {2}#.*$/, "");
  }
  const python = (box) =>
    [...box.querySelectorAll(":scope > section > .highlight-python pre")]
      .map((pre) => pre.textContent)
      .join("")
      .trimEnd();

  class Aside extends Piece {
    editor; // of a scratch cell
    node;
    constructor(live, data, ...parts) {
      super(live, data);
      this.place = make("div", {
        class: "live-new-output",
        id: `live-output-${data.index}`,
        tabindex: "-1",
      });
      this.outputs = new Outputs(this.place, "", `Figure of ${this.title}.`, () => {});
      this.box = make(
        "div",
        { class: "live-aside" },
        ...parts,
        this.tools(data.words, data.label),
        this.place,
      );
    }
    static scratch(live, exercise, number) {
      const source = python(exercise),
        title = `the scratch cell of exercise ${number}`,
        checks = CHECKS.test(source);
      const data = {
        index: exercise.id,
        number,
        source,
        title,
        checks,
        words: checks ? "✓ Check my answer" : "▶ Run",
        label: checks ? `Check my answer in ${title}` : `Run ${title}`,
      };
      const made = new Aside(live, data);
      made.editor = made.area(`Code of ${title}`);
      made.node = make(
        "details",
        { class: "live-scratch" },
        make("summary", {}, checks ? "Answer here, and check it" : "Scratch cell: try it here"),
        made.box,
      );
      made.box.prepend(made.editor);
      made.show();
      exercise.querySelector(":scope > section").append(made.node);
      return made;
    }
    static solution(live, solution, number) {
      const source = python(solution),
        title = `the solution of exercise ${number}`;
      const made = new Aside(live, {
        index: solution.id,
        source,
        title,
        words: "▶ Run this solution",
      });
      const blocks = solution.querySelectorAll(":scope > section > .highlight-python");
      if (blocks.length) blocks[blocks.length - 1].after(made.box);
      return made;
    }
    start() {
      if (this.checks && OPEN.test(this.code) && !this.live.busy) {
        this.forget();
        return this.outputs.say(
          "Replace each ",
          make("code", {}, "..."),
          " first. Nothing was run.",
        );
      }
      return this.live.run(
        () => [this],
        `${this.title}${CHECKS.test(this.code) ? ": all its checks hold" : ""}`,
      );
    }
    show() {
      if (this.editor.value !== this.code) this.editor.value = this.code;
      this.editor.rows = Math.max(4, this.code.split("\n").length);
      this.undo.hidden = this.code === this.source;
      if (!this.undo.hidden) this.node.open = true;
    }
    set(code) {
      this.code = code;
      this.show();
      this.live.keep();
    }
    forget() {
      super.forget();
      this.outputs.clear();
    }
    async run(kernel) {
      this.set_state("running", "running …");
      this.outputs.clear();
      const good = await this.follow(kernel, ASIDE(this.sent)),
        said = this.checks ? ["✓ right", "✗ not yet"] : ["✓ ran", "✗ stopped"];
      this.set_state(good ? "ran" : "failed", good ? said[0] : said[1]);
      if (good && this.checks)
        this.place.append(make("p", { role: "status" }, "Right: all checks hold."));
      return good;
    }
  }

  /* ---- the page ---- */
  class Live {
    constructor(page) {
      this.page = page;
      this.place = `ldpkit-live-edits:${page.page}`;
      this.cells = [];
      this.scratches = [];
      this.status = make("p", { id: "live-status", role: "status" });
      this.clock = make("p", { id: "live-clock", "aria-hidden": "true", hidden: true }); // changes too often to be read out
      this.gauge = make("progress", {
        id: "live-progress",
        max: 1,
        value: 0,
        hidden: true,
        "aria-label": "Progress of the run",
      });
      this.hidden = make("div", { id: "live-hidden" });
      this.badge = badge("Not live");
      this.badge.hidden = here; // it is about a server
      this.all = button("▶ Run all", () => this.runAll(), { id: "live-run-all" });
      this.stop = button(here ? "■ Cancel" : "■ Interrupt", () => this.interrupt(), {
        id: "live-interrupt",
        "data-run-cancel": true,
      });
      this.forget = button("", () => this.empty(), { id: "live-remove", hidden: true });
      this.again = button("↻ Restart", () => this.restart(), { id: "live-restart" });
      this.restore = button("Undo all edits", () => this.undo(), { id: "live-undo-all" });
      this.all.className = "live-main";
      this.all.disabled = this.stop.disabled = this.again.disabled = this.restore.hidden = true;
      this.see = make("a", { id: "live-see", href: "#", hidden: true });
      this.look = make("span", {}); // the same way, beside the form's button, and there
      this.halt = button(this.stop.textContent, () => this.interrupt(), {
        class: "live-halt",
        title: "Escape does this, too",
      });
      this.wait = make("p", { id: "live-wait", role: "status" });
      this.bar = make(
        "div",
        { id: "live-bar", role: "region", "aria-label": "Run this page" },
        make(
          "div",
          { class: "live-buttons" },
          this.see,
          this.badge,
          this.all,
          this.stop,
          this.again,
          this.restore,
          this.forget,
          lab(page.notebook),
        ),
        this.status,
        this.wait,
        this.gauge,
        this.clock,
      );
      document.querySelector("article h1").after(this.bar, this.hidden);
      new ResizeObserver(() => this.measure()).observe(this.bar);
      this.state("idle");
    }
    /* What is scrolled to stands below the bar. */
    measure() {
      document.documentElement.style.setProperty("--live-bar", `${this.bar.offsetHeight}px`);
      document.activeElement.closest("#live-form input")?.scrollIntoView({ block: "nearest" }); // it may lie under a bar that grew
    }
    /* Where the run is, for programs: idle fetching starting running done failed cancelled. */
    state(word) {
      this.bar.closest("section").dataset.runState = word;
    }
    /* What this browser keeps of the engine, with a way to remove it. */
    async weigh() {
      const size = here ? await ldpkit.engine.held() : 0;
      this.forget.hidden = !size;
      this.forget.textContent = `Remove ${Math.round(size / 1e6)} MB`;
      this.forget.title =
        "This browser keeps the downloaded parts, and Python as it has started, for quicker starts. Without them the next run downloads again.";
    }
    async empty() {
      this.all.focus(); // this button goes
      await ldpkit.engine.remove();
      await this.weigh();
    }
    begin() {
      this.badge.textContent = "Live";
      this.cells = this.page.cells.map((data) => new Cell(data, this));
      const own = this.cells.find((c) => c.parameters);
      if (own) {
        const paper = own.source;
        for (const p of this.page.parameters) {
          if (!same(p.built, p.literal) || (here && p.name in this.page.browser))
            own.code = own.code.replace(
              new RegExp(`^(${p.name} = .*\\(the paper: )these\\b`, "m"),
              (_, before) => before + p.literal, // "these" are other ones now
            );
          own.code = withValue(own.code, p.name, p.built);
        }
        own.source = own.code; // what the book was built with
        if (here && !new URLSearchParams(location.hash.slice(1)).has("run"))
          for (const [name, value] of Object.entries(this.page.browser))
            own.code = withValue(own.code, name, value); // less than the book took, so that nobody waits for minutes
        if (own.code !== paper) own.show_editor();
        this.form = new Form(this.page.parameters, own, this);
        const figure = document.querySelector(".cell.tag_first-figure"); // stays in sight above the sliders
        if (figure) figure.after(this.form.element);
        else own.node.before(this.form.element);
        this.form.read();
      }
      const injected = /** @type {HTMLElement} */ (
        document.querySelector(".tag_injected-parameters")
      );
      if (injected) injected.hidden = true; // the form says it
      for (const span of document.querySelectorAll("article .pasted-text"))
        span.classList.add("live-built-number");
      const exercises = [...document.querySelectorAll(".exercise.admonition")],
        number = (box, i) =>
          (box.querySelector(".caption-number")?.textContent.match(/\d+/) || [i + 1])[0];
      this.scratches = exercises.map((box, i) => Aside.scratch(this, box, number(box, i)));
      this.solutions = exercises
        .map((box, i) => [box.nextElementSibling, number(box, i)])
        .filter(([box]) => box?.matches(".solution"))
        .map(([box, n]) => Aside.solution(this, box, n));
      document.addEventListener("keydown", ({ key, target }) => {
        const ours = "#live-bar, #live-form, .live-tools, .live-code";
        if (key === "Escape" && /** @type {Element} */ (target).closest(ours)) this.interrupt();
      });
      window.addEventListener("pagehide", () => {
        if (this.kernel) {
          this.kernel.stop();
          this.kernel = null;
        }
      });
      document.addEventListener("visibilitychange", () => {
        if (!document.hidden && !this.busy)
          ask("GET", "live").catch((e) => {
            this.badge.textContent = "Not live";
            this.fail(e.message);
          });
      });
      this.idle();
      const link = new URLSearchParams(here ? location.hash.slice(1) : location.search), // edits that are kept change the address
        [kept, lost] = this.recall(),
        [set, refused] = this.address(link);
      const given = kept.includes(own) ? "parameters" : "",
        codes = named(kept.filter((c) => c !== own)),
        edits = [given, codes && `edits of ${codes}`].filter(Boolean).join(" and ");
      this.ready(
        [
          edits && `Your ${edits} are kept. `,
          set.length && `This address sets ${set.join(", ")}: press “Run all” for its run. `,
        ]
          .filter(Boolean)
          .join(""),
      );
      if (lost.length)
        this.say(
          `Your edits of ${named(lost)} belonged to another version of this page and are gone. ${this.status.textContent}`,
        );
      if (refused.length)
        this.say(
          `Not taken from the address of this page: ${refused.join(" ")} ${this.status.textContent}`,
          "bad",
        );
    }
    /* Everything a reader can edit. */
    get pieces() {
      return [...this.cells, ...this.scratches];
    }
    /* Put the parameters that the address names into their cell; what was set, and what was refused and why. Nothing is run. */
    address(given) {
      if (here && !given.has("run")) return [[], []];
      const release = given.get("run");
      given.delete("run");
      const { set, refused } = asked(this.page.parameters, given);
      if (here && release !== this.page.release)
        refused.push(
          `the release: the link was made with ${release.slice(0, 20) || "an unknown one"}, this is ${this.page.release}.`,
        );
      // a link to a run has the book's values of all parameters that it does not name
      const own = here && this.form ? this.page.parameters.map((p) => [p.name, p.built]) : [];
      for (const [name, value] of [...own, ...set])
        this.form.cell.set(withValue(this.form.cell.code, name, value));
      return [set.map((pair) => pair.join(" = ")), refused];
    }
    /* The address names the parameters that differ from the book's, so that it can be kept or handed on. */
    show_address() {
      if (this.form) history.replaceState(history.state, "", this.address_of_values());
    }
    address_of_values() {
      const query = new URLSearchParams(here ? { run: this.page.release } : location.search);
      for (const p of this.page.parameters) {
        const value = valueIn(this.form.cell.code, p.name);
        if (value === undefined || value === p.built || refusal(p, literal(p, value)))
          query.delete(p.name);
        else query.set(p.name, value);
      }
      const rest = here
        ? `${location.search}#${query}`
        : `${query.size ? `?${query}` : ""}${location.hash}`;
      return `${location.pathname}${rest}`;
    }
    /* Hand on the address of a run, instead of leaving the run for it. */
    async hand_on(event) {
      event.preventDefault();
      const { target } = event;
      history.replaceState(history.state, "", target.href);
      try {
        await navigator.clipboard.writeText(target.href);
        target.textContent = "The link to this run is copied";
      } catch {
        target.textContent = "The link to this run is the address of this page now"; // no clipboard without https
      }
    }
    ready(first = "") {
      this.say(`Ready: change a parameter or edit a cell, then run. ${first}${this.estimate()}`);
    }
    /* Edits are kept in this tab, each beside the book's code that it changed. */
    keep() {
      const edits = this.pieces
        .filter((c) => c.code !== c.source)
        .map((c) => [c.index, c.source, c.code]);
      this.restore.hidden = !edits.length;
      if (edits.length) sessionStorage.setItem(this.place, JSON.stringify(edits));
      else sessionStorage.removeItem(this.place);
    }
    recall() {
      const kept = [],
        lost = [];
      let edits = [];
      try {
        edits = JSON.parse(sessionStorage.getItem(this.place)) || [];
      } catch {
        /* not written here */
      }
      if (!Array.isArray(edits) || !edits.every(Array.isArray)) edits = [];
      for (const [index, source, code] of edits) {
        const cell =
          typeof code === "string" &&
          this.pieces.find((c) => c.index === index && c.source === source);
        (cell ? kept : lost).push(cell || { index, number: index });
        if (cell) cell.set(code);
      }
      if (lost.length) this.keep();
      return [kept, lost];
    }
    undo() {
      const mine = this.pieces.filter((c) => c.code !== c.source).map((c) => [c, c.code]);
      for (const [c] of mine) {
        c.set(c.source);
        c.set_state("", "");
      }
      this.ready("All cells are the book’s again. ");
      this.status.append(
        " ",
        button("Bring my edits back", () => {
          for (const [c, code] of mine) c.set(code);
          this.ready();
          this.all.focus(); // this button goes
        }),
      );
    }
    /* How long a run takes: known for the values with which it was measured, longer where a number or a list grew, and what a comment
       warns of. */
    estimate() {
      const { parameters, browser } = this.page,
        seconds = here ? ldpkit.live.seconds : this.page.seconds,
        warned = [];
      let grown = false;
      this.expected = seconds;
      for (const p of parameters) {
        const value = valueIn(this.form.cell.code, p.name),
          usual = here ? (browser[p.name] ?? p.built) : p.literal,
          size = (v) => (p.many ? v.split(",").length : Number(v.replaceAll("_", "")));
        if (value === undefined || same(value, usual)) continue;
        this.expected = 0;
        if (p.cost && value !== "False") warned.push(` ${p.name}: ${p.cost}.`);
        grown ||=
          (p.many || (p.kind === "integer" && p.name !== "seed")) && size(value) > size(usual);
      }
      const first = here ? "" : " with the book’s values",
        longer = grown ? " With your values it takes longer." : "";
      return seconds
        ? `A run takes about ${duration(seconds)}${first}.${longer}${warned.join("")}`
        : "";
    }
    /* The last line of a progress bar, without the bar: the clock shows it beside the time gone by. */
    heard(raw) {
      this.bar_said = raw
        .trimEnd()
        .split("\n")
        .pop()
        .replace(/ *\|[^|]*\|/, "")
        .trim();
    }
    tick() {
      const gone = (performance.now() - this.began) / 1000,
        { done, count, all } = this.progress,
        known = all && this.expected;
      this.gauge.value =
        this.share ?? (known ? Math.min(0.99, gone / this.expected) : done / count);
      this.clock.textContent = [
        this.share === undefined && `${done + 1} of ${count}`,
        `${Math.round(gone)} s${!known ? "" : gone > this.expected ? ", longer than expected" : ` of about ${duration(this.expected)}`}`,
        this.bar_said,
      ]
        .filter(Boolean)
        .join(" · ");
    }
    say(words, state = "", ...more) {
      this.status.replaceChildren(words, ...more);
      this.bar.dataset.state = state;
    }
    /* What cannot be pressed now is said to be so, and keeps the focus. */
    hold(busy) {
      this.busy = busy;
      this.clock.hidden = this.gauge.hidden = !busy;
      if (busy) this.bar.setAttribute("aria-busy", "true");
      else this.bar.removeAttribute("aria-busy");
      this.stop.setAttribute("aria-disabled", String(!busy));
      if (!busy && document.activeElement === this.halt)
        this.form.element.querySelector(".live-main").focus();
      this.halt.hidden = !busy;
      for (const one of document.querySelectorAll(
        "#live-run-all, #live-restart, #live-form button, .live-run",
      ))
        if (!one.closest(".live-control, .live-halt"))
          one.setAttribute("aria-disabled", String(busy));
      this.wait.textContent = "";
    }
    /* Whether a run goes on: then the bar says that a press has to come later. */
    waits() {
      if (this.busy)
        this.wait.textContent =
          "This run keeps the values that it started with. Press again when it has ended, or cancel it.";
      return this.busy;
    }
    idle() {
      this.asked = this.all.disabled = this.stop.disabled = this.again.disabled = false;
      clearInterval(this.ticking);
      this.hold(false);
    }
    start() {
      this.hold(true);
      this.see.hidden = true;
      this.look.replaceChildren();
      this.bar_said = "";
      this.progress = { done: 0, count: 1 };
      this.began = performance.now();
      this.tick();
      this.ticking = setInterval(() => this.tick(), 500);
    }
    edited(cell) {
      this.keep();
      if (!this.form || cell !== this.form.cell) return;
      this.form.read();
      this.show_address();
      if (!this.busy) this.ready();
    }
    /* What is said of a run, taken when it is asked for: how it differs from the one in the book, in words and as a link, and the book's
       values of what it changed. The parameters' cell is edited, too, if more than their values changed. */
    freeze() {
      for (const c of [...this.pieces, ...this.solutions]) c.sent = c.code;
      const own = this.form?.cell,
        given = own
          ? this.page.parameters.filter((p) => valueIn(own.code, p.name) !== undefined)
          : [];
      const other = given
          .map((p) => [p, valueIn(own.code, p.name)])
          .filter(([p, v]) => !same(v, p.built)),
        quick = ([p, v]) =>
          here && p.name in this.page.browser && same(v, this.page.browser[p.name]),
        valued = (pairs) => pairs.map(([p, v]) => `${p.name} = ${v}`),
        changed = valued(other.filter((pair) => !quick(pair))),
        less = valued(other.filter(quick)); // what the page set, so that nobody waits for minutes
      const code = (c) =>
        c === own ? given.reduce((text, p) => withValue(text, p.name, p.built), own.code) : c.code;
      const edits = this.cells.filter((c) => code(c) !== c.source);
      if (edits.length) changed.push(`code of ${named(edits)} changed`);
      const apart = changed.length + less.length > 0;
      const books = given
        .filter((p) => apart && !same(valueIn(own.code, p.name), p.literal))
        .map((p) => `${p.name} = ${p.literal}`);
      this.told = {
        words:
          (changed.join("; ") || "nothing changed") +
          (less.length ? `; unlike the book, to be quick: ${less.join("; ")}` : ""),
        changed: apart,
        unlinked: [
          ...other.filter(([p, v]) => refusal(p, literal(p, v))).map(([p]) => p.name),
          ...(edits.length ? ["edited code"] : []),
        ],
        books,
        link: here && own ? new URL(this.address_of_values(), location.href).href : location.href,
      };
    }
    /* After a run of all cells: how its tables differ from the book's, with ways to them. */
    differing(pieces) {
      const sum = (what) => pieces.reduce((n, c) => n + c.moved[what], 0),
        [other, all] = [sum("other"), sum("all")];
      if (!other)
        return this.told.changed
          ? []
          : [` Same code and seeds as in the book${all ? ", and equal tables" : ""}.`];
      const ways = pieces
        .filter((c) => c.moved.all && c.moved.other)
        .flatMap((c) => [", ", this.way(c)]);
      const why = this.told.changed
        ? ""
        : " This can be where times are measured, or where a network is trained, which depends on the order in which a processor adds.";
      return [
        ` ${other} of ${all} cells of tables differ from the book’s: `,
        ...ways.slice(1),
        `.${why}`,
      ];
    }
    async connected() {
      if (this.kernel && (await this.kernel.alive())) return;
      if (this.kernel) this.kernel.disconnect();
      this.say("Starting a kernel …", "busy");
      for (const c of this.cells) c.state = "";
      const kernel = new Kernel(
        this.page.folder,
        (why) => {
          this.kernel = null;
          this.gone = why;
          if (!this.busy) this.fail(why);
        },
        (words, share, state) => {
          this.say(words, "busy");
          this.share = share;
          this.state(state);
        },
      );
      if (here) this.kernel = kernel; // it can be cancelled while it starts
      await kernel.start();
      this.kernel = kernel;
      kernel.onkept = () => this.weigh();
      this.share = undefined;
      this.state("running");
      this.weigh();
    }
    fail(words, ...more) {
      this.state(this.asked ? "cancelled" : "failed");
      this.share = undefined;
      this.say(words, "bad", ...more);
      this.idle();
    }
    /* A way to what a piece shows, which leaves the address as it is. */
    way(piece, words = piece.title) {
      const { place } = piece;
      const go = (event) => {
        event.preventDefault();
        for (let e = place; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
        place.focus({ preventScroll: true });
        (place.querySelector(":scope:not(.live-joined) > .live-new") || place).scrollIntoView();
      };
      return make("a", { href: `#${place.id}`, onclick: go }, words);
    }
    /* One line about a piece that stopped, with a way to where it says more. */
    stopped(piece, before, after) {
      this.fail(before, this.way(piece), after.split("\n")[0]);
    }
    /* Run pieces in their order. `said` tells what was done; without it these are cells of the page. */
    async run(choose, said = "") {
      if (this.waits() || (!said && this.form && !this.form.valid())) return;
      this.freeze();
      const { words, changed, unlinked, link } = this.told;
      this.start();
      this.state(this.kernel ? "running" : here ? "fetching" : "starting");
      this.gone = "";
      const began = performance.now();
      try {
        await this.connected();
        const pieces = choose(),
          failed = [],
          estimate = said ? "" : ` ${this.estimate()}`;
        this.began = performance.now(); // the estimate is without the start of Python
        this.progress = { done: 0, count: pieces.length, all: pieces.length === this.cells.length };
        for (const piece of pieces) {
          this.say(`Running ${piece.title} …${estimate}`, "busy");
          this.bar_said = "";
          if (!(await piece.run(this.kernel))) {
            if (this.gone) throw new Error(this.gone);
            if (here && !said) {
              failed.push(piece); // the others may need nothing of it
              continue;
            }
            // who stops the server interrupts its kernels first: the socket will close, and then the page says so
            if (piece.interrupted)
              return this.stopped(
                piece,
                "Interrupted at ",
                `${this.asked ? "" : ", not from this page"}.`,
              );
            return this.stopped(piece, "Stopped at ", `: ${piece.error}`);
          }
          this.progress.done += 1;
        }
        const took = `Done in ${((performance.now() - began) / 1000).toFixed(1)} s: `;
        if (failed.length)
          return this.stopped(
            failed[0],
            `${failed.length} of ${pieces.length} cells failed: ${named(failed)}. The first is `,
            `: ${failed[0].error.replace(/\.?$/, ".")}${failed.length < pieces.length ? " The other cells ran." : ""}`,
          );
        if (!said) document.body.dataset.live = "ran";
        const without = unlinked.length ? [` (without ${unlinked.join(" and ")})`] : [],
          copy = { href: link, class: "live-again", onclick: (e) => this.hand_on(e) };
        const again = (...first) =>
          here && !said && this.form
            ? [...first, make("a", copy, "Copy a link to this run"), ...without]
            : [];
        const figure = pieces.find((c) => c.place?.querySelector("[data-run-result]")),
          edited = (c) => c.sent !== c.source,
          first = pieces.findIndex(edited),
          seen = pieces.filter((c) => c.place?.checkVisibility() && c.place.childNodes.length),
          shown =
            figure ||
            seen.findLast(edited) ||
            seen.find((c) => first >= 0 && pieces.indexOf(c) > first), // what follows from an edit
          arrow = shown?.place.getBoundingClientRect().top < 0 ? "↑" : "↓",
          note =
            !said && changed && document.querySelector("article .live-built-number")
              ? " Underlined numbers are the book’s."
              : "";
        if (shown) {
          const words = `See the new ${figure ? "figure" : "output"} ${arrow}`,
            see = this.way(shown, words);
          this.look.replaceChildren(
            took.slice(0, -2),
            ". ",
            this.way(shown, words),
            " ",
            ...again(),
            " ",
          );
          see.id = this.see.id;
          this.see.replaceWith(see);
          this.see = see;
        }
        this.say(
          `${took}${said || words}.${note}`,
          "good",
          ...(said ? [] : this.differing(pieces)),
          ...again(" "),
        );
        this.state("done");
        this.idle();
      } catch (e) {
        this.fail(this.gone || e.message);
      }
    }
    runAll() {
      return this.run(() => this.cells);
    }
    /* Run one cell; what comes before it is run first from where this kernel has not yet run it as it now stands. */
    runTo(cell) {
      return this.run(() => {
        const upto = this.cells.slice(0, this.cells.indexOf(cell) + 1);
        const first = upto.findIndex((c) => c === cell || c.state !== "ran" || c.ran !== c.code);
        return upto.slice(first);
      });
    }
    async interrupt() {
      if (!this.kernel || !this.busy) return;
      this.asked = true;
      try {
        await this.kernel.interrupt();
      } catch (e) {
        this.fail(e.message);
      }
    }
    async restart() {
      if (this.waits()) return;
      this.start();
      this.say("Restarting …", "busy");
      try {
        if (this.kernel && (await this.kernel.alive())) await this.kernel.restart();
        for (const c of [...this.pieces, ...this.solutions]) c.forget();
        ldpkit.conditions?.();
        delete document.body.dataset.live;
        this.idle();
        this.say("Restarted: nothing has been run.");
      } catch (e) {
        this.fail(e.message);
      }
    }
    reset() {
      if (this.waits()) return;
      const own = this.form.cell;
      let code = own.source;
      for (const p of this.page.parameters) code = withValue(code, p.name, p.literal);
      own.set(code);
      this.form.read(true);
      for (const c of this.cells) c.forget();
      ldpkit.conditions?.();
      delete document.body.dataset.live;
      this.say(
        "The parameters have the book’s values again; the page shows the run with which it was built.",
      );
    }
  }

  async function open() {
    const { data } = ldpkit.live,
      title = document.querySelector("article h1");
    if (!title) return;
    if (!data) {
      // without cells: only the way to JupyterLab
      const way = make("p", { class: "live-links" }, badge("Live"), " ", lab("book"));
      title.after(way);
      return ask("GET", "live").catch((e) => way.replaceChildren(e.message));
    }
    const live = new Live(await (await fetch(data)).json());
    live.say("Asking the server …", "busy");
    try {
      await ask("GET", "live");
      live.begin();
      const weighed = live.weigh(); // its button makes the bar higher
      const form = !ldpkit.live.start && live.form?.element;
      const { pressed } = ldpkit.live, // that button is gone
        exercise = pressed?.closest(".exercise"),
        answer = live.scratches.find((one) => exercise?.contains(one.node)),
        place = answer?.node || form;
      if (answer) answer.node.open = true;
      if (pressed && place)
        weighed.finally(() => {
          live.measure();
          place.scrollIntoView();
        });
      if (pressed) (answer?.editor || form || live.all).focus({ preventScroll: true });
      if (ldpkit.live.start) live.runAll(); // the click asked for it
    } catch (e) {
      live.say(e.message, "bad");
    }
  }
  open();
})();
