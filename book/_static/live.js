/* Live pages: edit and run a page's cells on the Jupyter server that serves the page (`make lab`).

   On any other web host this script does nothing. It speaks the Jupyter kernel protocol itself, needs no library, and
   asks nobody but its own server. The server's token comes in the fragment of the link that `make lab` prints; the page
   trades it at once for the server's cookies, which hold in every tab, and keeps it nowhere. */
(() => {
  "use strict";
  const PREFIX = "/static/"; // where the server shows the book
  const script = document.currentScript;
  const here = ["127.0.0.1", "localhost"].includes(location.hostname) && location.pathname.startsWith(PREFIX);
  if (!here) return;

  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) history.replaceState(null, "", location.pathname + location.search);

  const GONE = "The server does not answer: it was stopped. Start it again with “make lab” and open the link it prints.";
  const STALE = "The server does not know this browser. To run this page, open the link that “make lab” printed last.";
  const ENDED = "The kernel was stopped, perhaps after an hour without use. Run again to start a new one.";

  /* ---- small helpers ---- */
  function make(tag, attributes = {}, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else if (value === true) e.setAttribute(name, "");
      else if (value !== false && value !== undefined) e.setAttribute(name, value);
    }
    e.append(...children);
    return e;
  }
  const lab = (path) => make("a", { href: "/lab/tree/" + path, target: "_blank", rel: "noopener" }, "Open in JupyterLab");
  const numbered = (cells) => `cell${cells.length > 1 ? "s" : ""} ${cells.map((c) => c.index + 1).join(", ")}`;
  const text = (data) => (Array.isArray(data) ? data.join("") : data);
  const plain = (data) => data.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "");
  /* A carriage return goes back to the start of its line: progress bars. One at the end waits for what follows. */
  const settled = (data) => data.replace(/\r+\n/g, "\n").replace(/[^\n]*\r(?=[^\r\n])/g, "");
  const duration = (s) => (s < 1 ? "a second" : s < 100 ? `${Math.round(s)} s` : `${Math.round(s / 60)} min`);

  /* ---- the kernel ---- */
  /* Trade the token for the cookies, or learn whether they still hold. */
  const enter = () => ask("GET", "live", undefined, token ? { headers: { Authorization: "token " + token } } : {});

  async function ask(method, path, body, rest = {}) {
    const proof = document.cookie.match(/(?:^|; )_xsrf=([^;]+)/); // no other origin can read it
    const headers = proof ? { "X-XSRFToken": proof[1] } : {};
    if (body) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch("/api/" + path, { method, headers, body: body && JSON.stringify(body), ...rest });
    } catch {
      throw new Error(GONE);
    }
    if (answer.status === 401 || answer.status === 403) throw new Error(STALE);
    if (!answer.ok) throw Object.assign(new Error(`The server answered ${answer.status} to ${method} ${path}.`), { status: answer.status });
    return answer.status === 204 ? null : answer.json();
  }

  class Kernel {
    waiting = new Map(); // message id -> {show, done, failed}
    session = crypto.randomUUID();

    constructor(folder, onlost) {
      this.folder = folder;
      this.onlost = onlost;
    }
    async start() {
      this.id = (await ask("POST", "kernels", { name: "python3", path: this.folder })).id;
      await this.connect();
    }
    connect() {
      this.closed = false;
      this.socket = new WebSocket(`ws://${location.host}/api/kernels/${this.id}/channels?session_id=${this.session}`);
      this.socket.onmessage = (event) => this.receive(JSON.parse(event.data));
      return new Promise((ready, refused) => {
        this.socket.onopen = ready;
        this.socket.onclose = () => {
          refused(new Error(GONE));
          this.lost();
        };
      });
    }
    disconnect() {
      this.closed = true;
      this.socket.onclose = null;
      this.socket.close();
      for (const w of this.waiting.values()) w.done(false);
      this.waiting.clear();
    }
    async lost() {
      if (this.closed) return;
      this.closed = true;
      let why = ENDED;
      try {
        await ask("GET", "kernels/" + this.id);
        why = "The connection to the kernel was lost. Run again.";
      } catch (e) {
        if (e.status !== 404) why = e.message;
      }
      this.onlost(why);
      this.disconnect();
    }
    async alive() {
      if (this.socket.readyState !== WebSocket.OPEN) return false;
      try {
        await ask("GET", "kernels/" + this.id);
        return true;
      } catch (e) {
        if (e.status === 404) return false;
        throw e;
      }
    }
    run(code, show) {
      const id = crypto.randomUUID();
      const done = new Promise((finish) => this.waiting.set(id, { show, done: finish, failed: false }));
      this.socket.send(JSON.stringify({
        channel: "shell", parent_header: {}, metadata: {}, buffers: [],
        header: { msg_id: id, msg_type: "execute_request", username: "", session: this.session, date: new Date().toISOString(), version: "5.3" },
        content: { code, silent: false, store_history: false, user_expressions: {}, allow_stdin: false, stop_on_error: true },
      }));
      const watch = setInterval(() => ask("GET", "kernels/" + this.id).catch(() => this.lost()), 5000); // a kernel can vanish unsaid
      return done.finally(() => clearInterval(watch));
    }
    receive(message) {
      const { msg_type: type } = message.header, content = message.content;
      if (type === "status" && content.execution_state === "dead") return this.lost();
      if (type === "status" && ["restarting", "autorestarting"].includes(content.execution_state) && this.waiting.size) {
        this.onlost("The kernel died (out of memory?) and lost all it had computed. Run again.");
        return this.disconnect();
      }
      const asked = this.waiting.get(message.parent_header && message.parent_header.msg_id);
      if (!asked) return;
      if (type === "status" && content.execution_state === "idle") {
        this.waiting.delete(message.parent_header.msg_id);
        asked.done(!asked.failed);
      } else if (["stream", "display_data", "execute_result", "error", "clear_output"].includes(type)) {
        if (type === "error") asked.failed = content.ename;
        asked.show(type, content);
      }
    }
    interrupt() { return ask("POST", `kernels/${this.id}/interrupt`); }
    async restart() {
      this.disconnect();
      await ask("POST", `kernels/${this.id}/restart`);
      await this.connect();
    }
    stop() {
      this.disconnect();
      return ask("DELETE", "kernels/" + this.id, undefined, { keepalive: true }).catch(() => {});
    }
  }

  /* ---- values of parameters: the same rules as book/_tools/parameters.py ---- */
  const INTEGER = /^[+-]?\d+(_\d+)*$/, NUMBER = /^[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][+-]?\d+)?$/, TEXT = /^("[^"\\\n]*"|'[^'\\\n]*')$/;
  function fits(p, item) {
    if (p.kind === "text") return TEXT.test(item) && (!p.choices.length || p.choices.includes(item.slice(1, -1)));
    if (p.kind === "boolean") return item === "True" || item === "False";
    if (!(p.kind === "integer" ? INTEGER : NUMBER).test(item)) return false;
    const x = Number(item.replaceAll("_", ""));
    return Number.isFinite(x) && (!p.choices.length || p.choices.includes(x)) && (p.low === null || (p.low_open ? x > p.low : x >= p.low)) && (p.high === null || (p.high_open ? x < p.high : x <= p.high)) && !(p.step && x % p.step);
  }
  function problem(p, literal) {
    const value = literal.trim();
    if (value === p.literal || value === p.built || (p.none && value === "None")) return "";
    const list = value.match(/^\[(.*?),?\s*\]$/s);
    const items = list ? (TEXT.test(list[1].trim()) ? [list[1]] : list[1].split(",")).map((v) => v.trim()) : [value];
    const whole = /^[[({].*[\])}]$/s.test(value);
    const good = p.kind === "any" ? whole || NUMBER.test(value) || TEXT.test(value)
      : p.kind === "other" ? whole : p.many === !!list && !(p.pair && items.length !== 2) && items.every((v) => fits(p, v));
    return good ? "" : `${p.name} must be ${p.expects}.`;
  }
  const assignment = (name) => new RegExp(`^${name} = (.+?)(?=  #|$)`, "m");
  const valueIn = (code, name) => (code.match(assignment(name)) || [])[1];
  const withValue = (code, name, value) => code.replace(assignment(name), () => `${name} = ${value}`);

  /* ---- outputs ---- */
  class Outputs {
    constructor(place, label, alt, twin) { Object.assign(this, { place, label, alt, twin, urls: [] }); }
    clear() {
      this.urls.forEach(URL.revokeObjectURL);
      this.urls = [];
      this.last = null;
      this.place.replaceChildren();
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
          this.last = { name: content.name, raw: "", pre: make("pre", { class: "live-stream live-" + content.name }) };
          this.place.append(this.last.pre);
        }
        this.last.raw = settled(this.last.raw + plain(content.text));
        this.last.pre.textContent = this.last.raw.trimEnd() + (this.last.raw.endsWith("\n") ? "\n" : "");
        this.last.pre.hidden = !this.last.raw.trim(); // a bar that was wiped away
        return;
      }
      this.last = null;
      if (type === "error") {
        const trace = make("pre", { tabindex: "0", "aria-label": "traceback" }, plain(content.traceback.join("\n")));
        this.place.append(make("div", { class: "live-error", role: "alert" }, make("strong", {}, `${content.ename}: ${content.evalue}`), trace));
      } else this.rich(content.data);
    }
    rich(data) {
      const svg = data["image/svg+xml"], png = data["image/png"], html = data["text/html"], csv = data["text/csv"];
      if (svg || png) {
        const [words, mime, bytes] = svg ? ["SVG", "image/svg+xml", text(svg)] : ["PNG", "image/png", Uint8Array.from(atob(text(png)), (c) => c.charCodeAt(0))];
        const links = make("p", { class: "live-links" }, this.link(words, "figure." + words.toLowerCase(), mime, bytes));
        if (csv) links.append(" · ", this.link("data (CSV)", "figure.csv", "text/csv", text(csv)));
        const image = make("img", { src: links.querySelector("a").href, alt: this.alt });
        this.place.append(make("figure", { class: "live-figure" }, image, links));
        if (csv) this.place.lastChild.dataset.csv = text(csv);
        if (csv && data["application/vnd.ldpkit.figure+json"]) this.twin("overlay", text(csv), this.label.replace("Your run: ", ""));
      } else if (html) {
        const box = make("div", { class: "output text_html" });
        box.innerHTML = text(html);
        box.querySelectorAll("table").forEach((table) => table.classList.add("table")); // as the theme does at load
        this.place.append(box);
      } else if (data["text/plain"]) this.place.append(make("pre", { class: "live-result" }, text(data["text/plain"])));
    }
  }

  /* ---- one cell of the page; cells the page does not show are run all the same ---- */
  class Cell {
    constructor(data, live) {
      Object.assign(this, data, { live, code: data.source, state: "" });
      this.node = document.getElementById("cell-" + data.index);
      this.input = this.node && this.node.querySelector(".cell_input");
      this.published = this.node && this.node.querySelector(".cell_output");
      if (this.input) this.tools();
    }
    tools() {
      this.code_shown = this.input.querySelector("div.highlight") || this.input.querySelector("pre");
      this.editor = make("textarea", { class: "live-code", spellcheck: "false", autocapitalize: "off", hidden: true, "aria-label": `Code of cell ${this.index + 1}`,
        oninput: () => this.set(this.editor.value, true),
        onkeydown: (e) => { if (e.shiftKey && e.key === "Enter") { e.preventDefault(); this.live.runTo(this); } } });
      this.button = make("button", { type: "button", class: "live-run", "aria-label": `Run cell ${this.index + 1}`, onclick: () => this.live.runTo(this) }, "▶ Run");
      this.edit = make("button", { type: "button", "aria-label": `Edit cell ${this.index + 1}`, onclick: () => this.open() }, "Edit");
      this.undo = make("button", { type: "button", hidden: true, "aria-label": `Undo the edits of cell ${this.index + 1}`, onclick: () => this.set(this.source) }, "Undo edits");
      this.mark = make("span", { class: "live-mark" });
      this.code_shown.after(this.editor);
      this.input.append(make("div", { class: "live-tools" }, this.button, this.edit, this.undo, this.mark));
    }
    open() {
      this.show_editor();
      this.editor.focus();
    }
    show_editor() {
      this.code_shown.hidden = this.edit.hidden = true;
      this.editor.hidden = false;
      this.editor.value = this.code;
      this.grow();
    }
    grow() { this.editor.rows = this.code.split("\n").length; }
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
        this.fresh = make("section", { class: "live-new", "aria-label": "Output of your run" }, this.label, this.here);
        this.compare = make("div", { class: "live-compare" });
        if (this.published) {
          this.published.replaceWith(this.compare);
          this.compare.append(make("section", { class: "live-published", "aria-label": "Output of the built book" },
            make("p", { class: "live-label" }, "In the book"), this.published));
          const made = this.node.querySelector(".made-by");
          if (made) this.compare.firstChild.append(made);
        } else if (this.node) this.node.append(this.compare);
        else this.live.hidden.append(this.compare);
        this.compare.append(this.fresh);
      }
      this.label.textContent = "Your run: " + this.live.difference();
      return new Outputs(this.here, this.label.textContent, `Figure of your run, ${this.live.difference()}. The book's: ` + this.alt(), (...what) => this.twin(...what));
    }
    /* The book's figure takes this run into its own axes, if it is one that can (see twin.js). */
    twin(what, ...given) {
      const host = this.published && this.published.querySelector("[data-twin]");
      if (host && globalThis.ldpkit && globalThis.ldpkit.twin) globalThis.ldpkit.twin[what](host, ...given);
    }
    alt() {
      const image = this.published && this.published.querySelector("img");
      return image ? image.alt : "none.";
    }
    forget() {
      this.state = "";
      if (this.mark) this.mark.textContent = "";
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
      this.ran = this.code;
      this.error = this.interrupted = undefined;
      const before = this.here ? this.here.offsetHeight : 0;
      this.outputs = this.output();
      this.here.style.minHeight = before + "px"; // the page does not jump while a figure is made again
      this.outputs.clear();
      this.compare.hidden = true;
      const show = (type, content) => {
        this.compare.hidden = false;
        this.outputs.show(type, content);
        if (type === "stream" && content.text.includes("\r")) this.live.heard(this.outputs.last.raw);
      };
      const good = await kernel.run(this.code, (type, content) => {
        if (type === "error") [this.error, this.interrupted] = [`${content.ename}: ${content.evalue}`, content.ename === "KeyboardInterrupt"];
        if (type === "stream" || type === "error" || type === "clear_output" || Object.keys(content.data).some((m) => !m.startsWith("application/papermill"))) show(type, content);
      });
      this.here.style.minHeight = "";
      const empty = !this.here.querySelector(":scope > :not([hidden])");
      this.compare.hidden = !this.published && empty;
      if (this.published && empty) this.here.append(make("p", {}, good ? "No output." : "Stopped."));
      this.set_state(good ? "ran" : "failed", good ? "✓ ran" : "✗ stopped");
      return good;
    }
    set_state(state, words) {
      this.state = state;
      if (this.mark) this.mark.textContent = words;
    }
  }

  /* ---- the form of parameters ---- */
  class Form {
    constructor(parameters, cell, live) {
      Object.assign(this, { cell, live });
      this.fields = parameters.map((p) => this.field(p));
      const reset = make("button", { type: "button", id: "live-reset", onclick: () => live.reset() }, "Reset to the paper’s values");
      const go = make("button", { type: "submit", class: "live-main" }, "▶ Run all with these values");
      this.element = make("form", { id: "live-form", "aria-label": "Parameters", onsubmit: (e) => { e.preventDefault(); live.runAll(); } },
        ...this.fields.map((f) => f.box), make("p", { class: "live-buttons" }, go, " ", reset));
    }
    field(p) {
      const id = "live-p-" + p.name;
      const bad = make("p", { class: "live-bad", id: id + "-bad", role: "alert" });
      const built = p.built === p.literal ? "" : ` This book was built with ${p.built}.`;
      const help = make("p", { class: "live-help", id: id + "-help" }, `${p.meaning}. Give ${p.expects}. ${p.paper ? p.paper[0].toUpperCase() + p.paper.slice(1) + "." : "The paper gives none."}${built}`);
      const input = make("input", { id, name: p.name, type: "text", autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-help ${id}-bad` });
      const field = { p, input, bad, box: make("div", { class: "live-field" }, make("label", { for: id }, p.name), input, help, bad) };
      input.addEventListener("input", () => { if (this.check(field)) this.cell.set(withValue(this.cell.code, p.name, input.value.trim())); });
      return field;
    }
    check({ p, input, bad }) {
      bad.textContent = problem(p, input.value);
      input.setAttribute("aria-invalid", String(!!bad.textContent));
      return !bad.textContent;
    }
    valid() {
      const wrong = this.fields.find((f) => !this.check(f));
      if (wrong) wrong.input.focus();
      return !wrong;
    }
    /* The cell is the truth: show what it says. */
    read() {
      for (const f of this.fields) {
        const value = valueIn(this.cell.code, f.p.name);
        if (document.activeElement !== f.input && value !== undefined) { f.input.value = value; this.check(f); }
      }
    }
  }

  /* ---- the page ---- */
  class Live {
    constructor(page) {
      this.page = page;
      this.place = "ldpkit-live-edits:" + page.page;
      this.cells = [];
      this.status = make("p", { id: "live-status", role: "status" });
      this.clock = make("p", { id: "live-clock", "aria-hidden": "true", hidden: true }); // changes too often to be read out
      this.hidden = make("div", { id: "live-hidden" });
      const button = (id, words, action) => make("button", { type: "button", id, onclick: action }, words);
      this.all = button("live-run-all", "▶ Run all", () => this.runAll());
      this.stop = button("live-interrupt", "■ Interrupt", () => this.interrupt());
      this.again = button("live-restart", "↻ Restart", () => this.restart());
      this.restore = button("live-undo-all", "Undo all edits", () => this.undo());
      this.all.className = "live-main";
      this.all.disabled = this.stop.disabled = this.again.disabled = this.restore.hidden = true;
      this.bar = make("div", { id: "live-bar", role: "region", "aria-label": "Run this page" },
        make("div", { class: "live-buttons" }, this.all, this.stop, this.again, this.restore, lab(page.notebook)), this.status, this.clock);
      document.querySelector("article h1").after(this.bar, this.hidden);
    }
    begin() {
      this.cells = this.page.cells.map((data) => new Cell(data, this));
      const own = this.cells.find((c) => c.parameters);
      if (own) {
        const paper = own.source;
        for (const p of this.page.parameters) own.code = withValue(own.code, p.name, p.built);
        own.source = own.code; // what the book was built with
        if (own.code !== paper) own.show_editor();
        this.form = new Form(this.page.parameters, own, this);
        own.node.before(this.form.element);
        this.form.read();
      }
      const injected = document.querySelector(".tag_injected-parameters");
      if (injected) injected.hidden = true; // the form says it
      for (const span of document.querySelectorAll("article .pasted-text")) span.classList.add("live-built-number");
      window.addEventListener("pagehide", () => { if (this.kernel) { this.kernel.stop(); this.kernel = null; } });
      document.addEventListener("visibilitychange", () => { if (!document.hidden && !this.busy) enter().catch((e) => this.fail(e.message)); });
      this.idle();
      const [kept, lost] = this.recall();
      this.ready(kept.length ? `Your edits of ${numbered(kept)} are kept. ` : "");
      if (lost.length) this.say(`Your edits of ${numbered(lost)} belonged to another version of this page and are gone. ` + this.status.textContent);
    }
    ready(first = "") { this.say(`Ready: change a parameter or edit a cell, then run. ${first}${this.estimate()}`); }
    /* Edits are kept in this tab, each beside the book's code that it changed. */
    keep() {
      const edits = this.cells.filter((c) => c.code !== c.source).map((c) => [c.index, c.source, c.code]);
      this.restore.hidden = !edits.length;
      if (edits.length) sessionStorage.setItem(this.place, JSON.stringify(edits));
      else sessionStorage.removeItem(this.place);
    }
    recall() {
      const kept = [], lost = [];
      let edits = [];
      try { edits = JSON.parse(sessionStorage.getItem(this.place)) || []; } catch { /* not written here */ }
      if (!Array.isArray(edits) || !edits.every(Array.isArray)) edits = [];
      for (const [index, source, code] of edits) {
        const cell = typeof code === "string" && this.cells.find((c) => c.index === index && c.source === source);
        (cell ? kept : lost).push({ index });
        if (cell) cell.set(code);
      }
      if (lost.length) this.keep();
      return [kept, lost];
    }
    undo() {
      for (const c of this.cells) if (c.code !== c.source) c.set(c.source);
      this.ready("All cells are the book’s again. ");
    }
    /* How long a run takes: what the build took, more where a number or a list grew, and what a comment warns of. */
    estimate() {
      const { seconds, parameters } = this.page, own = this.form && this.form.cell;
      if (!seconds) return "";
      let more = 1;
      const warned = [];
      for (const p of parameters) {
        const value = valueIn(own.code, p.name), size = (v) => (p.many ? v.split(",").length : Number(v.replaceAll("_", "")));
        if (value === p.built || value === undefined) continue;
        if (p.cost && value !== "False") warned.push(` ${p.name}: ${p.cost}.`);
        if (p.many || (p.kind === "integer" && p.name !== "seed")) more *= Math.max(1, size(value) / size(p.built)) || 1;
      }
      const scale = parameters.every((p) => p.built === p.literal) ? "" : " at the papers’ own scale";
      return `All cells took ${duration(seconds)} for the book${scale}${more > 1.2 ? `, with your values perhaps ${duration(seconds * more)}` : ""}.${warned.join("")}`;
    }
    /* The last line of a progress bar, without the bar: the clock shows it beside the time gone by. */
    heard(raw) { this.bar_said = raw.trimEnd().split("\n").pop().replace(/ *\|[^|]*\|/, "").trim(); }
    tick(began) {
      this.clock.textContent = [`${Math.round((performance.now() - began) / 1000)} s`, this.bar_said].filter(Boolean).join(" · ");
    }
    say(words, state = "") {
      this.status.textContent = words;
      this.bar.dataset.state = state;
    }
    idle() {
      this.busy = this.asked = false;
      this.all.disabled = this.again.disabled = false;
      this.stop.disabled = this.clock.hidden = true;
      clearInterval(this.ticking);
      this.bar.removeAttribute("aria-busy");
    }
    start() {
      this.busy = this.all.disabled = this.again.disabled = true;
      this.stop.disabled = this.clock.hidden = false;
      this.bar.setAttribute("aria-busy", "true");
      this.bar_said = "";
      const began = performance.now();
      this.tick(began);
      this.ticking = setInterval(() => this.tick(began), 500);
    }
    edited(cell) {
      this.keep();
      if (!this.form || cell !== this.form.cell) return;
      this.form.read();
      if (!this.busy) this.ready();
    }
    /* How this run differs from the one in the book, in words. */
    difference() {
      const own = this.form && this.form.cell;
      const changed = own ? this.page.parameters.map((p) => [p, valueIn(own.code, p.name)]).filter(([p, v]) => v !== p.built).map(([p, v]) => `${p.name} = ${v}`) : [];
      const edits = this.cells.filter((c) => c !== own && c.code !== c.source);
      if (edits.length) changed.push("edited " + numbered(edits));
      return changed.join("; ") || "nothing changed";
    }
    async connected() {
      if (this.kernel && (await this.kernel.alive())) return;
      if (this.kernel) this.kernel.disconnect();
      this.say("Starting a kernel …", "busy");
      for (const c of this.cells) c.state = "";
      const kernel = new Kernel(this.page.folder, (why) => { this.kernel = null; this.gone = why; if (!this.busy) this.fail(why); });
      await kernel.start();
      this.kernel = kernel;
    }
    fail(words) { this.say(words, "bad"); this.idle(); }
    async run(choose = () => this.cells) {
      if (this.busy || (this.form && !this.form.valid())) return;
      this.start();
      this.gone = "";
      const began = performance.now();
      try {
        await this.connected();
        for (const cell of choose()) {
          this.say(`Running cell ${cell.index + 1} … ${this.estimate()}`, "busy");
          this.bar_said = "";
          if (!(await cell.run(this.kernel))) {
            if (this.gone) throw new Error(this.gone);
            // who stops the server interrupts its kernels first: the socket will close, and then the page says so
            if (cell.interrupted) return this.fail(`Interrupted at cell ${cell.index + 1}${this.asked ? "" : ", not from this page"}.`);
            return this.fail(`Stopped at cell ${cell.index + 1}: ${cell.error}`);
          }
        }
        document.body.dataset.live = "ran";
        const note = document.querySelector("article .live-built-number") ? " Underlined numbers in the text belong to the run in the book." : "";
        this.say(`Done in ${((performance.now() - began) / 1000).toFixed(1)} s: ${this.difference()}.${note}`, "good");
        this.idle();
      } catch (e) {
        this.fail(this.gone || e.message);
      }
    }
    runAll() { return this.run(); }
    /* Run one cell; what comes before it is run first from where this kernel has not yet run it as it now stands. */
    runTo(cell) {
      return this.run(() => {
        const upto = this.cells.slice(0, this.cells.indexOf(cell) + 1);
        const first = upto.findIndex((c) => c === cell || c.state !== "ran" || c.ran !== c.code);
        return upto.slice(first);
      });
    }
    async interrupt() {
      if (!this.kernel) return;
      this.asked = true;
      try { await this.kernel.interrupt(); } catch (e) { this.fail(e.message); }
    }
    async restart() {
      this.start();
      this.say("Restarting …", "busy");
      try {
        if (this.kernel && (await this.kernel.alive())) await this.kernel.restart();
        for (const c of this.cells) c.forget();
        delete document.body.dataset.live;
        this.idle();
        this.say("Restarted: nothing has been run.");
      } catch (e) { this.fail(e.message); }
    }
    reset() {
      if (this.busy) return;
      const own = this.form.cell;
      let code = own.source;
      for (const p of this.page.parameters) code = withValue(code, p.name, p.literal);
      own.set(code);
      document.activeElement.blur();
      this.form.read();
      for (const c of this.cells) c.forget();
      delete document.body.dataset.live;
      this.say("The paper’s values again; the page shows what is in the book.");
    }
  }

  async function open() {
    const title = document.querySelector("article h1");
    if (!title) return;
    if (!script.dataset.page) { // without cells: only the way to JupyterLab
      const way = make("p", { class: "live-links" }, lab("book"));
      title.after(way);
      return enter().catch((e) => way.replaceChildren(e.message));
    }
    const live = new Live(await (await fetch(script.dataset.page)).json());
    live.say("Asking the server …", "busy");
    try {
      await enter();
      live.begin();
    } catch (e) {
      live.say(e.message, "bad");
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", open);
  else open();
})();
