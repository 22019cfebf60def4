/* The engine's parts and its worker, for pages that run themselves. A part is fetched when a reader asks for it, checked by its sha256
   before use, and kept in the browser's cache under its name, which holds the sum. Nothing is asked of any other host. */
(() => {
  "use strict";
  globalThis.ldpkit ||= {};
  const CACHE = "ldpkit-engine",
    here = new URL(".", /** @type {HTMLScriptElement} */ (document.currentScript).src);
  const OLD = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 1, 105, 0]); // a function that takes an exception reference
  const PIECE = 1 << 20; // bytes of an image that are packed before the page may do something else
  const LEAST = 4; // GB of memory, where the browser tells

  /* Why this browser or this device cannot run Python, in a sentence, or "". */
  function lacks() {
    if (location.protocol === "file:")
      return "A browser runs nothing from a file: serve the folder with “python -m http.server” and open its address, or use “make lab”.";
    if (!globalThis.WebAssembly?.validate(OLD) || !globalThis.DecompressionStream)
      return "This browser is too old to run Python: it needs Chrome or Edge 137, Firefox 131, Safari 18.4, or later.";
    const memory = /** @type {any} */ (navigator).deviceMemory;
    return memory < LEAST
      ? `This device has ${memory} GB of memory, and to run Python here takes 700 MB of it: use a larger one, or “make lab”.`
      : "";
  }

  /* sha256 by hand, because browsers hide theirs from pages on plain http. */
  function digest(data) {
    const primes = [];
    for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
    const part = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32) | 0,
      k = Int32Array.from(primes, (p) => part(Math.cbrt(p))),
      h = Int32Array.from(primes.slice(0, 8), (p) => part(Math.sqrt(p))),
      w = new Int32Array(64),
      whole = new Uint8Array(Math.ceil((data.length + 9) / 64) * 64),
      view = new DataView(whole.buffer),
      turn = (x, n) => (x >>> n) | (x << (32 - n));
    whole.set(data);
    whole[data.length] = 128;
    view.setBigUint64(whole.length - 8, BigInt(data.length) * 8n);
    for (let at = 0; at < whole.length; at += 64) {
      for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
      for (let i = 16; i < 64; i++) {
        const x = w[i - 15],
          y = w[i - 2];
        w[i] =
          (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10)) +
          w[i - 7] +
          (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) +
          w[i - 16];
      }
      let [a, b, c, d, e, f, g, z] = h;
      for (let i = 0; i < 64; i++) {
        const one =
            (z + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i]) | 0,
          two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [z, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
      }
      for (const [i, x] of [a, b, c, d, e, f, g, z].entries()) h[i] += x;
    }
    return [...h].map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
  }
  async function sum(bytes) {
    if (!globalThis.crypto.subtle) return digest(new Uint8Array(bytes));
    const found = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [...found].map((b) => b.toString(16).padStart(2, "0")).join("");
  }

  const store = async () => globalThis.caches?.open(CACHE).catch(() => null);
  const unpack = (bytes) =>
    new Response(
      new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).arrayBuffer();
  async function got(name, signal, heard) {
    const answer = await fetch(new URL(name, here), { credentials: "omit", signal }).catch((e) => {
      throw signal?.aborted ? e : new Error("The host of this book does not answer.");
    });
    if (!answer.ok) throw new Error(`The host answered ${answer.status} for ${name}.`);
    const pieces = [];
    for (const reader = answer.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return new Blob(pieces).arrayBuffer();
      pieces.push(value);
      heard(value.length);
    }
  }
  /* All parts, unpacked, and their common name; `heard` is told bytes, all bytes, and whether any came from the host. */
  async function parts(signal, heard) {
    const list = await got("parts.json", signal, () => {}).then((b) =>
      JSON.parse(new TextDecoder().decode(b)),
    );
    const all = list.reduce((n, row) => n + row.size, 0),
      kept = await store();
    let so = 0,
      fetched = false;
    const found = await Promise.all(
      list.map(async ({ name, file, size, sha256 }) => {
        const old = await kept?.match(new URL(file, here)),
          tell = (n) => {
            so += n;
            fetched ||= !old;
            heard(so, all, fetched);
          };
        const bytes = old ? await old.arrayBuffer() : await got(file, signal, tell);
        if (old) tell(size);
        if ((await sum(bytes)) !== sha256) {
          await kept?.delete(new URL(file, here));
          throw new Error(
            `${name} is not the part with which this book was built. Nothing of it was run; try again, or tell whoever serves the book.`,
          );
        }
        if (kept && !old) await kept.put(new URL(file, here), new Response(bytes)).catch(() => {}); // a full disk keeps nothing
        const whole = await unpack(bytes);
        bytes.transfer(0); // given back now, as below: a browser that collects what nobody holds takes its time
        return [name, whole];
      }),
    );
    const name = list.map((row) => row.sha256.slice(0, 8)).join(""),
      known = new Set([...list.map((row) => row.file), `image-${name}`]);
    for (const old of kept ? await kept.keys() : [])
      if (!known.has(old.url.split("/").pop())) await kept.delete(old);
    return { parts: Object.fromEntries(found), name };
  }

  /* ---- the state after all imports ---- */
  const address = (name) => new URL(`image-${name}`, here);
  let keeping; // what is being stored
  const keep = (name, image) => {
    keeping = stored(name, image);
    return keeping;
  };
  async function stored(name, image) {
    const kept = await store();
    if (!kept) return;
    const pieces = image.flatMap((part) => {
        const starts = Array.from({ length: Math.ceil(part.length / PIECE) }, (_, i) => i * PIECE);
        return starts.map((at) => part.subarray(at, at + PIECE));
      }),
      stream = new ReadableStream({
        pull(to) {
          if (pieces.length) to.enqueue(pieces.shift());
          else to.close();
        },
      });
    const packed = await new Response(
      stream.pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    for (const { buffer } of image) buffer.transfer(0); // 130 MB
    const headers = { "x-sum": await sum(packed) };
    await kept.put(address(name), new Response(packed, { headers })).catch(() => {});
  }
  /* The image, which the worker unpacks, or undefined: a damaged one is deleted. */
  async function image(name) {
    const kept = await store(),
      answer = await kept?.match(address(name));
    if (!answer) return undefined;
    const packed = await answer.arrayBuffer();
    if ((await sum(packed)) === answer.headers.get("x-sum")) return packed;
    await kept.delete(address(name));
    return undefined;
  }
  /* How many bytes this browser keeps of the engine, and how they are removed. */
  async function held() {
    if (!(await globalThis.caches?.has(CACHE))) return 0;
    const kept = await store();
    let n = 0;
    for (const key of await kept.keys()) n += (await (await kept.match(key)).blob()).size;
    return n;
  }
  async function remove() {
    await keeping;
    await globalThis.caches?.delete(CACHE);
  }

  /* The worker's script: one classic script, because a frame of no origin can load no other. */
  const script = async (signal) => {
    const names = ["wasi.js", "kernels.js", "worker.js"],
      texts = await Promise.all(names.map((name) => got(name, signal, () => {})));
    return new Blob(texts, { type: "text/javascript" });
  };

  /* ---- a worker behind walls ---- */
  const INSIDE = `addEventListener("message", ({ data, ports: [port] }) => {
    const worker = new Worker(URL.createObjectURL(data));
    worker.onmessage = (e) => port.postMessage(e.data);
    worker.onerror = (e) => port.postMessage({ type: "failed", error: e.message || "the worker did not start" });
    port.onmessage = ({ data: [message, moved] }) => worker.postMessage(message, moved);
    port.postMessage({ type: "walled" });
  }, { once: true });`;
  /* It has no origin, so that it finds no cookie, no storage and no page, and a policy that forbids every connection. */
  async function walled(blob) {
    const nonce = [...crypto.getRandomValues(new Uint8Array(16))]
        .map((b) => b.toString(36))
        .join(""),
      policy = `default-src 'none'; connect-src 'none'; worker-src blob:; script-src 'nonce-${nonce}' 'wasm-unsafe-eval' blob:`,
      frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.hidden = true;
    frame.title = "Where your client runs";
    frame.srcdoc = `<meta http-equiv="Content-Security-Policy" content="${policy}"><script nonce="${nonce}">${INSIDE}</${"script"}>`;
    const loaded = new Promise((done) => {
      frame.onload = done;
    });
    document.body.append(frame);
    await loaded;
    const { port1: port, port2 } = new MessageChannel(),
      made = {
        onmessage: (_) => {},
        postMessage: (message, moved = []) => port.postMessage([message, moved], moved),
        terminate() {
          port.close();
          frame.remove();
        },
      };
    const ready = new Promise((done) => {
      port.onmessage = done;
    });
    frame.contentWindow.postMessage(blob, "*", [port2]);
    await ready;
    port.onmessage = (e) => made.onmessage(e);
    return made;
  }

  ldpkit.engine = { walled, lacks, parts, keep, image, held, remove, script };
})();
