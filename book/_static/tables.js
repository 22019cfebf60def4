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
        lengths = names.map((_, i) => rows.map((row) => row.cells[i].textContent.length)),
        sums = lengths.map((column) => column.reduce((sum, n) => sum + n, 0)),
        long = lengths.some((column) => column.some((n) => n > SENTENCE)),
        sentences = long ? sums.indexOf(Math.max(...sums)) : -1; // this column needs no name, nor does a title in words
      if (!long && names.length < MANY) continue;
      table.classList.add("cards");
      for (const { cells } of rows)
        for (const [i, cell] of [...cells].entries()) {
          const words = cell.textContent.trim();
          if (i !== sentences && (i || /^[-\d.]/.test(words))) cell.dataset.label = names[i];
          if (!words) cell.hidden = true;
        }
    }
  }
  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, { cards });
  cards(document);
})();
