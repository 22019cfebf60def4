/* Live pages: edit and run a page's cells, on the Jupyter server that serves the page (`make lab`), or in the reader's own browser.

   `make lab` gives the server's token in the fragment of the link that it prints; the page takes it out of the address at once, and
   token.js keeps it in the storage of its tab unless that tab has one that works. On any other web host a page offers to run itself,
   if the book was built with the engine. Nothing of the engine is fetched before the reader asks for it. */
(() => {
  "use strict";
  const PREFIX = /^\/book-[0-9a-f]{16}\/static\//; // where the server shows the book; every start has its own
  const HOST = /^127\.0\.0\.1$|(^|\.)localhost$/;
  const script = /** @type {HTMLScriptElement} */ (document.currentScript),
    { page, engine, engineLacks } = script.dataset,
    part = (name) => new URL(name, script.src).href;

  /* The parts of the interface, in their order; `live` is what they start with. */
  function load(live, names) {
    globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, { live });
    document.head.append(
      Object.assign(document.createElement("link"), {
        rel: "stylesheet",
        href: part("live/live.css"),
      }),
    );
    for (const name of [
      ...(ldpkit.base ? [] : ["base.js"]),
      ...names,
      "live/form.js",
      "live/page.js",
    ])
      document.head.append(
        Object.assign(document.createElement("script"), { src: part(name), async: false }),
      );
  }

  if (HOST.test(location.hostname) && PREFIX.test(location.pathname)) {
    const offered = new URLSearchParams(location.hash.slice(1)).get("token");
    if (offered) {
      sessionStorage.setItem("live-token-offered", offered); // who goes on before it is tried takes it along
      history.replaceState(null, "", location.pathname + location.search);
    }
    load({ data: page }, ["live/token.js", "live/kernel.js"]);
    return;
  }

  /* ---- a page that runs itself ---- */
  const title = document.querySelector("article h1"),
    element = (name, given) => Object.assign(document.createElement(name), given);
  /* A link for the keyboard, behind the theme's own. */
  function skip(href, textContent) {
    const first = document.querySelector("#pst-skip-link"),
      more = /** @type {Element} */ (first.cloneNode(true));
    more.id = "skip-to-run";
    Object.assign(more.querySelector("a"), { href, textContent });
    first.after(more);
  }
  if (!page && engine) skip("#own-python", "Skip to your client in Python");
  if (!page || !title || !(engine || engineLacks)) return;
  const [size, seconds] = (engine || "").split(" "),
    file = location.protocol === "file:",
    line = element("p", { id: "engine-offer" });
  /* `pressed` is where the button was that asked for it. */
  function begin(start, pressed) {
    for (const one of [line, ...document.querySelectorAll(".run-first")]) one.remove();
    document.querySelector("#skip-to-run a").setAttribute("href", "#live-bar");
    load({ data: page, start, pressed, seconds: Number(seconds) }, [
      "engine/parts.js",
      "live/worker.js",
    ]);
  }
  if (engineLacks) line.textContent = `${engineLacks} “make lab” runs this page.`;
  else if (file)
    line.textContent =
      "From a file a browser runs nothing: serve this folder with “python -m http.server” and open its address, or use “make lab”.";
  else {
    const press = (textContent, start, place = title) =>
      element("button", { type: "button", textContent, onclick: () => begin(start, place) });
    const also = (...parts) => {
      const more = element("p", { className: "run-first" });
      more.append(...parts);
      return more;
    };
    const run = press("▶ Run this page here", true),
      change = "Change parameters or cells";
    run.dataset.runHere = "";
    for (const place of document.querySelectorAll(
      ".exercise.admonition > section:has(> .highlight-python)",
    ))
      place.append(
        also(press("▶ Run this page first", true, place), " Then a box for your answer is here."),
      );
    document
      .querySelector("#run-it-yourself > h2")
      ?.after(also(press(change, false), " In this browser, with nothing to install."));
    line.append(
      run,
      " ",
      press(change, false),
      ` ${size} MB${globalThis.caches ? " once, kept in this browser with a copy of the started Python" : ""}, then about ${seconds} s. Python runs in your browser, takes 700 MB of memory, and sends nothing.`,
    );
  }
  const [figure, parameters] = ["first-figure", "parameters"].map((tag) =>
    document.querySelector(`.cell.tag_${tag}`),
  );
  if (figure)
    figure.after(line); // the parameters of a figure come below it
  else if (parameters) parameters.before(line);
  else (document.querySelector(".page-needs") || title).after(line);
  title.closest("section").dataset.runState = "idle";
  if (!engine || file) return;
  skip("#engine-offer", "Skip to run");
  if (/^#run=/.test(location.hash)) begin(false); // it fills the form, and waits
})();
