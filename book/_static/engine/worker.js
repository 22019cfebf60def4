/* The worker of the engine, third part: Python, which runs the code of one page.

   to the worker:   {type: "open", id, parts: {name: bytes or module}, image, keep, imports, folder} | {type: "run", id, code}
   from the worker: {type: "progress", id, step} | {type: "say", id, kind, content} | {type: "image", image}
                    | {type: "done", id} | {type: "failed", id, error}

   Python gets a clock, random bytes, files in memory and one door, `_host.call`. What may pass it is the list in `call`: with any
   other kind of message the code of a page could pretend to be this worker. */
(() => {
  "use strict";
  const { wasi, folder, file, kernels: load, Exit } = engine;
  const KINDS = ["stream", "display_data", "error", "clear_output"],
    MOST = 64 << 20, // bytes that one run may say
    LIBRARY = "/usr/local/lib/python315.zip",
    FONTS = `${LIBRARY}/matplotlib/mpl-data`;
  const ENVIRONMENT = [
    "HOME=/tmp",
    "TMPDIR=/tmp",
    "MPLCONFIGDIR=/tmp",
    "PYTHONTZPATH=",
    "PYTHONHASHSEED=0",
    "JOBLIB_MULTIPROCESSING=0",
  ];
  const text = new TextEncoder(),
    words = new TextDecoder(),
    tell = (type, more = {}) => postMessage({ type, ...more });
  let instance,
    roots,
    kernels,
    table = "{}",
    now = null, // the id of the request in progress
    said = 0;

  function answer(message, length) {
    if (message.kind === "kernels") return table;
    if (message.kind === "kernel" || message.kind === "copy")
      return JSON.stringify(kernels[message.kind](message));
    if (message.kind !== "say" || !KINDS.includes(message.type)) throw new Error("no such message");
    said += length;
    if (said > MOST) throw new Error(`a run may say ${MOST >> 20} MB at most`);
    tell("say", { id: now, kind: message.type, content: message.content });
    return "{}";
  }
  /* Python's `_host.call`. */
  function call(request, length, out, size) {
    const { memory, host_alloc } = instance.exports;
    let reply;
    try {
      const message = words.decode(new Uint8Array(memory.buffer, request, length).slice());
      reply = answer(JSON.parse(message), length);
    } catch (error) {
      reply = JSON.stringify({ failed: String(error) });
    }
    const bytes = text.encode(reply),
      at = host_alloc(bytes.length);
    new Uint8Array(memory.buffer).set(bytes, at);
    const view = new DataView(memory.buffer);
    view.setUint32(out, at, true);
    view.setUint32(size, bytes.length, true);
    return 0;
  }
  function turn(code) {
    const bytes = text.encode(code),
      at = instance.exports.host_alloc(bytes.length);
    new Uint8Array(instance.exports.memory.buffer).set(bytes, at);
    if (instance.exports.turn(at, bytes.length) !== 0)
      throw new Error(errors.join("") || "Python failed");
  }
  let errors = [];
  function heard(fd, line) {
    if (fd === 2) errors = [...errors, line].slice(-40);
    tell("say", {
      id: now,
      kind: "stream",
      content: { name: fd === 1 ? "stdout" : "stderr", text: line },
    });
  }

  /* Start Python without running anything in it. */
  async function begin(parts, tree) {
    const lib = tree[0][1].entries.get("usr").entries.get("local").entries.get("lib");
    lib.entries.set("python315.zip", file(new Uint8Array(parts["python315.zip"])));
    const system = wasi(tree, ENVIRONMENT, heard),
      given = parts["python.wasm"],
      module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given);
    roots = tree;
    instance = await WebAssembly.instantiate(module, {
      wasi_snapshot_preview1: system.calls,
      host: { call },
    });
    system.use(instance);
  }
  function tree() {
    const root = folder(),
      inside = (path) =>
        path
          .split("/")
          .filter(Boolean)
          .reduce((node, name) => {
            if (!node.entries.has(name)) node.entries.set(name, folder());
            return node.entries.get(name);
          }, root);
    for (const path of ["/tmp", "/src", "/usr/local/lib"]) inside(path);
    return [
      ["/", root],
      [FONTS, folder()],
    ];
  }
  async function imported(parts, imports) {
    await begin(parts, tree());
    roots[0][1].entries.set("book.zip", file(new Uint8Array(parts["book.zip"])));
    instance.exports._initialize();
    turn(`import io, sys, zipfile
_fonts = zipfile.ZipFile(${JSON.stringify(LIBRARY)}).read("matplotlib/mpl-data.zip")
zipfile.ZipFile(io.BytesIO(_fonts)).extractall(${JSON.stringify(FONTS)})
zipfile.ZipFile("/book.zip").extractall("/src")
sys.path[:0] = ["/src", "/src/book", "/src/click"]`);
    roots[0][1].entries.delete("book.zip");
    tell("progress", { id: now, step: "python" });
    turn(`from ldpbook.engine.inside import serial\nserial.begin()\nimport ${imports}`);
  }
  /* The state after all imports: what describes it, every file but the library, and the memory. */
  function image() {
    const files = [],
      bytes = [];
    const walk = (node, path, root) => {
      for (const [name, one] of node.entries) {
        if (name === "python315.zip") continue;
        files.push([root, `${path}${name}`, one.entries ? -1 : one.size]);
        if (one.entries) walk(one, `${path}${name}/`, root);
        else bytes.push(one.data.slice(0, one.size));
      }
    };
    for (const [i, [, node]] of roots.entries()) walk(node, "", i);
    const { memory, g0 } = instance.exports,
      kept = { stack: g0.value, files, memory: memory.buffer.byteLength },
      head = text.encode(JSON.stringify(kept)),
      size = new Uint8Array(new Uint32Array([head.length]).buffer);
    return [size, head, ...bytes, new Uint8Array(memory.buffer.slice(0))];
  }
  /* A function that fills an array with the next bytes of what is packed. */
  function unpacked(packed) {
    const reader = new Blob([packed])
      .stream()
      .pipeThrough(new DecompressionStream("gzip"))
      .getReader();
    let left = new Uint8Array(0);
    return async (into) => {
      for (let at = 0; at < into.length; ) {
        if (!left.length) left = (await reader.read()).value;
        const part = left.subarray(0, into.length - at);
        into.set(part, at);
        at += part.length;
        left = left.subarray(part.length);
      }
      return into;
    };
  }
  async function thawed(parts, packed) {
    const next = unpacked(packed),
      fresh = tree(),
      [size] = new Uint32Array((await next(new Uint8Array(4))).buffer),
      kept = JSON.parse(words.decode(await next(new Uint8Array(size))));
    for (const [root, path, length] of kept.files) {
      const names = path.split("/"),
        last = names.pop(),
        holder = names.reduce((node, name) => node.entries.get(name), fresh[root][1]);
      if (length >= 0) holder.entries.set(last, file(await next(new Uint8Array(length))));
      else if (!holder.entries.has(last)) holder.entries.set(last, folder());
    }
    await begin(parts, fresh);
    const { memory, g0 } = instance.exports;
    memory.grow((kept.memory - memory.buffer.byteLength) / 65536);
    await next(new Uint8Array(memory.buffer));
    g0.value = kept.stack;
  }
  async function open({ parts, image: kept, keep, imports, folder: place }) {
    if (kept) await thawed(parts, kept);
    else {
      await imported(parts, imports);
      if (keep) {
        const made = image();
        postMessage({ type: "image", image: made }, { transfer: made.map(({ buffer }) => buffer) });
      }
    }
    tell("progress", { id: now, step: "libraries" });
    const { table: rows, pointers } = JSON.parse(words.decode(parts["kernels.json"]));
    kernels = await load(instance.exports.memory, parts["kernels.wasm"], pointers);
    table = JSON.stringify(rows);
    turn(`from ldpbook.engine.inside import shell\nshell.begin(${JSON.stringify(place)})`);
  }

  self.onmessage = async ({ data }) => {
    now = data.id;
    said = 0;
    errors = [];
    try {
      if (data.type === "open") await open(data);
      else
        turn(
          `from ldpbook.engine.inside import shell\n_ = shell.SHELL.run_cell(${JSON.stringify(data.code)}, ${JSON.stringify(data.title)})`,
        );
      tell("done", { id: now });
    } catch (error) {
      tell("failed", {
        id: now,
        error: error instanceof Exit ? error.message : String(error.message || error),
      });
    }
  };
})();
