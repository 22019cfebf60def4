/* Live pages, first part where no server of ours serves them: a kernel in a worker of this page. It takes the place of kernel.js.
   With `walls` the worker is in a frame that reaches nothing (see parts.js); what comes from there is shown, and not kept. */
(() => {
  "use strict";
  const { lacks, parts, keep, image, script, walled } = ldpkit.engine;
  const IMPORTS = "numpy, scipy.stats, pandas, matplotlib.pyplot, seaborn, ldpkit.auditors",
    SILENT = 600, // seconds without a word, after which a run is taken for an endless loop
    IDLE = 1000, // milliseconds without a cell, after which the state after all imports is stored
    MB = (n) => `${Math.round(n / 1e6)} MB`;
  const STEPS = {
    python: ["Loading numpy, scipy, pandas and matplotlib …", 0.6],
    libraries: ["Getting the page ready …", 0.95],
  };
  let module, // Python, compiled once for all workers of this page
    count = 0;

  class Kernel {
    waiting = new Map(); // id -> {show, done, refused}
    ended = "";
    refuse; // ends the start in progress
    kept; // the state after all imports, until it is stored
    onkept; // called when it is stored
    idle; // the timer that stores it
    stopping = new AbortController();
    constructor(folder, onlost, onstep, { walls = false, silent = SILENT } = {}) {
      this.walls = walls;
      this.silent = silent;
      this.folder = folder;
      this.onlost = onlost;
      this.onstep = onstep;
    }
    async start() {
      const { signal } = this.stopping,
        stopped = new Promise((_, refused) => {
          this.refuse = refused;
        });
      return Promise.race([this.begin(signal), stopped]).catch((e) => {
        this.end(e.message);
        throw e;
      });
    }
    async begin(signal) {
      const step = (...told) => this.ended || this.onstep(...told);
      const why = lacks();
      if (why) throw new Error(why);
      step("Asking for Python and ldpkit …", 0, "fetching");
      const [found, blob] = await Promise.all([
        parts(signal, (n, all, fetched) =>
          step(
            fetched
              ? `Fetching Python and ldpkit, once: ${MB(n)} of ${MB(all)} …`
              : `Reading Python and ldpkit from this browser …`,
            (0.5 * n) / all,
            "fetching",
          ),
        ),
        script(signal),
      ]);
      step("Starting Python …", 0.5, "starting");
      const files = found.parts;
      if (!this.walls) {
        const bytes = files["python.wasm"];
        files["python.wasm"] = module ??= await WebAssembly.compile(bytes);
        bytes.transfer(0);
      }
      const old = await image(found.name),
        moved = [...Object.values(files), old].filter((one) => one instanceof ArrayBuffer);
      const worker = this.walls
        ? await walled(blob)
        : new Worker(URL.createObjectURL(blob), { name: "ldpkit" });
      if (this.ended) return worker.terminate();
      this.name = found.name;
      this.worker = worker;
      this.worker.onerror = (e) => this.end(`Python could not be started: ${e.message}.`);
      this.worker.onmessage = ({ data }) => this.receive(data);
      const opened = {
        type: "open",
        parts: files,
        image: old,
        keep: !old && !this.walls && Boolean(globalThis.caches),
      };
      const good = await this.send(
        { ...opened, imports: IMPORTS, folder: this.folder },
        (kind, told) => kind === "progress" && step(...STEPS[told.step], "starting"),
        moved,
      );
      if (!good && old) {
        await ldpkit.engine.remove(); // an image that does not start: by imports, the next time
        throw new Error("What this browser kept of Python is damaged and was removed. Run again.");
      }
    }
    send(message, show, moved = []) {
      const id = ++count,
        done = new Promise((finish) => {
          this.waiting.set(id, { show, done: finish });
        });
      this.worker.postMessage({ ...message, id }, moved);
      return done;
    }
    async run(code, show, title = "cell") {
      let failed = false,
        heard = performance.now();
      const watch = setInterval(() => {
        if (performance.now() - heard > this.silent * 1000)
          this.end(
            `Stopped: no answer for ${this.silent} seconds (an endless loop, or too much to compute at once?).`,
          );
      }, 1000);
      clearTimeout(this.idle);
      this.shown = (kind, content) => {
        heard = performance.now();
        failed ||= kind === "error";
        show(kind, content);
      };
      const good = await this.send({ type: "run", code, title }, this.shown);
      clearInterval(watch);
      if (good && this.kept)
        this.idle = setTimeout(() => {
          keep(this.name, this.kept).then(() => this.onkept?.()); // it was copied before any cell ran
          this.kept = null;
        }, IDLE);
      return good && !failed;
    }
    receive(data) {
      if (data.type === "image" && !this.walls) this.kept = data.image;
      const asked = this.waiting.get(data.id);
      if (data.type === "progress") asked?.show("progress", data);
      else if (data.type === "say") asked?.show(data.kind, data.content);
      else if (data.type === "done") {
        this.waiting.delete(data.id);
        asked?.done(true);
      } else if (data.type === "failed")
        this.end(`Python stopped: ${data.error.trim().split("\n").at(-1)}`);
    }
    /* A worker cannot be woken from what it does: it is ended, and all that it computed is gone. */
    end(why) {
      if (this.ended) return;
      this.ended = why;
      this.stopping.abort();
      this.worker?.terminate();
      this.refuse?.(new Error(why));
      for (const { done } of this.waiting.values()) done(false);
      this.waiting.clear();
      this.onlost(why);
    }
    interrupt() {
      this.end("Cancelled. The next run starts Python again.");
    }
    async alive() {
      return !this.ended;
    }
    disconnect() {
      this.end("Ended.");
    }
    stop() {
      this.disconnect();
    }
    async restart() {
      this.disconnect();
    }
  }

  ldpkit.live = Object.assign(ldpkit.live ?? {}, {
    ask: async () => null,
    Kernel,
    here: true,
    root: "",
  });
})();
