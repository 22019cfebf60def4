/* Tables on a phone (book.css): one with sentences becomes cards, where each cell names its column; of others the first column stays in
   sight. `ldpkit.cards` takes what a run has shown, too. */
(() => {
  "use strict";
  const SENTENCE = 40; // characters: a longer cell needs no name
  const MANY = 6; // columns that a table of short words cannot show
  function cards(place) {
    for (const table of place.querySelectorAll(
      "article .pst-scrollable-table-container > table, table.dataframe",
    )) {
      const [head, ...more] = table.tHead?.rows || [],
        rows = [...table.tBodies].flatMap((body) => [...body.rows]),
        cells = rows.flatMap((row) => [...row.cells]),
        long = (cell) => cell.textContent.length > SENTENCE,
        whole = head && !more.length && rows.every((r) => r.cells.length === head.cells.length),
        wide = !table.matches(".dataframe") && head?.cells.length >= MANY;
      if (!whole || !(wide || cells.some(long))) continue;
      table.classList.add("cards");
      for (const cell of cells)
        if (cell.cellIndex && !long(cell))
          cell.dataset.label = head.cells[cell.cellIndex].textContent.trim();
    }
  }
  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, { cards });
  cards(document);
})();
