/* Live pages: edit and run a page's cells on the Jupyter server that serves the page (`make lab`).

   On any other web host this script does nothing, and the parts in live/ are not loaded. The server's token comes in the fragment
   of the link that `make lab` prints; the page takes it out of the address at once and keeps it in the storage of its tab. */
(() => {
  "use strict";
  const PREFIX = "/static/"; // where the server shows the book
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  if (
    !["127.0.0.1", "localhost"].includes(location.hostname) ||
    !location.pathname.startsWith(PREFIX)
  )
    return;

  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    sessionStorage.setItem("live-token", token);
  }
  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, {
    live: { data: script.dataset.page },
  });

  const part = (name) => new URL(`live/${name}`, script.src).href;
  document.head.append(
    Object.assign(document.createElement("link"), { rel: "stylesheet", href: part("live.css") }),
  );
  for (const name of [
    ...(ldpkit.base ? [] : ["../base.js"]),
    "token.js",
    "kernel.js",
    "form.js",
    "page.js",
  ]) {
    document.head.append(
      Object.assign(document.createElement("script"), { src: part(name), async: false }),
    );
  }
})();
