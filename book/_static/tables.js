/* Tables on a phone (book.css): one with sentences or many columns becomes cards, where each cell names its column; of others the first
   column stays in sight. `ldpkit.cards` takes what a run has shown, too. */
(() => {
  "use strict";
  const SENTENCE = 40, // characters
    MANY = 7; // columns
  function cards(place) {
    for (const table of place.querySelectorAll(
      "article .pst-scrollable-table-container > table, table.dataframe",
    )) {
      const [head, ...more] = table.tHead?.rows || [],
        rows = [...table.tBodies].flatMap((body) => [...body.rows]),
        whole = head && !more.length && rows.every((r) => r.cells.length === head.cells.length);
      if (!whole) continue;
      const names = [...head.cells].map((cell) => cell.textContent.trim()),
        cells = rows.flatMap((row) => [...row.cells]);
      if (names.length < MANY && !cells.some((c) => c.textContent.length > SENTENCE)) continue;
      table.classList.add("cards");
      for (const cell of cells) {
        const words = cell.textContent.trim();
        if (cell.cellIndex || /^[-\d.]/.test(words)) cell.dataset.label = names[cell.cellIndex]; // a title in words needs none
        if (!words) cell.dataset.empty = "";
      }
    }
  }
  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, { cards });
  cards(document);
})();
