/* Live pages: edit and run a page's cells on the Jupyter server that serves the page (`make lab`).

   On any other web host this script does nothing, and the parts in live/ are not loaded. The server's token comes in the fragment
   of the link that `make lab` prints; the page takes it out of the address at once, and token.js keeps it in the storage of its tab
   unless that tab has one that works. */
(() => {
  "use strict";
  const PREFIX = /^\/book-[0-9a-f]{16}\/static\//; // where the server shows the book; every start has its own
  const HOST = /^127\.0\.0\.1$|(^|\.)localhost$/;
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  if (!HOST.test(location.hostname) || !PREFIX.test(location.pathname)) return;

  const offered = new URLSearchParams(location.hash.slice(1)).get("token");
  if (offered) {
    sessionStorage.setItem("live-token-offered", offered); // who goes on before it is tried takes it along
    history.replaceState(null, "", location.pathname + location.search);
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
