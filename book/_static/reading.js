/* A link to something folded opens the folds around it, and a table of clients has filters. */
(() => {
  const named = (fragment) => {
    try {
      return document.getElementById(decodeURIComponent(fragment));
    } catch {
      return null; // an address with a percent sign that encodes nothing
    }
  };
  const open = () => {
    const target = named(location.hash.slice(1));
    if (!target) return;
    const inside = target.matches("section, .cell") && target.querySelector(":scope > details");
    let fold = /** @type {HTMLDetailsElement} */ (inside || target.closest("details"));
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();

  const filters = (table) => {
    const { make } = ldpkit.base,
      rows = [...table.tBodies[0].rows],
      status = make("span", { role: "status" });
    const parts = {
      Package: (row) => row.querySelector("[data-package]").dataset.package,
      Verdict: (row) => row.querySelector("[class^=badge-]").textContent.replace("*", ""),
    };
    const bar = make("p", { class: "table-filters" });
    const chosen = Object.entries(parts).map(([name, of]) => {
      const words = ["all", ...new Set(rows.map(of))],
        options = words.map((word) => make("option", {}, word)),
        select = make("select", { "aria-label": name, oninput: show }, ...options);
      bar.append(make("label", {}, `${name} `, select));
      return (row) => ["all", of(row)].includes(select.value);
    });
    function show() {
      for (const row of rows) row.hidden = !chosen.every((fits) => fits(row));
      status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} clients`;
    }
    bar.append(status);
    table.before(bar);
    show();
  };
  for (const table of document.querySelectorAll("table:has([data-package])")) filters(table);
})();
