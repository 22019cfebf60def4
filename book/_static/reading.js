/* A link to something folded opens the folds around it, and a table of clients has filters. */
(() => {
  const open = () => {
    const target =
      location.hash.length > 1 &&
      document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const inside = target.matches("section, .cell") && target.querySelector(":scope > details");
    let fold = /** @type {HTMLDetailsElement} */ (inside || target.closest("details"));
    for (; fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();

  const filters = (table) => {
    const rows = [...table.tBodies[0].rows],
      bar = document.createElement("p"),
      status = document.createElement("span");
    const parts = {
      Package: (row) => row.querySelector("[data-package]").dataset.package,
      Verdict: (row) => row.querySelector("[class^=badge-]").textContent.replace("*", ""),
    };
    const chosen = Object.entries(parts).map(([name, of]) => {
      const select = document.createElement("select"),
        label = document.createElement("label");
      select.setAttribute("aria-label", name);
      for (const words of ["all", ...new Set(rows.map(of))]) select.add(new Option(words));
      label.append(`${name} `, select);
      bar.append(label);
      select.addEventListener("input", show);
      return (row) => ["all", of(row)].includes(select.value);
    });
    function show() {
      for (const row of rows) row.hidden = !chosen.every((fits) => fits(row));
      status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} clients`;
    }
    status.setAttribute("role", "status");
    bar.className = "table-filters";
    bar.append(status);
    table.before(bar);
    show();
  };
  for (const table of document.querySelectorAll("table:has([data-package])")) filters(table);
})();
