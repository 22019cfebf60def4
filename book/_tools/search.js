// A question is read as book/_tools/searching.py reads a page; Sphinx puts this file where its search finds it.
var splitQuery = (query) => query
  .replace(/\bTHE\b/g, "THE_")
  .replace(/\b(fig(?:ure)?|table)s?\.?\s*(\d+)/gi, (_, kind, number) => (/^t/i.test(kind) ? "table" : "figure") + number)
  .split(/[^\p{Letter}\p{Number}_]+/u)
  .filter((word) => word);

Stemmer = ((Plain) => function () {
  const spelling = Object.entries(SPELLING_TABLE).map(([american, ours]) => [new RegExp(american), ours]);
  const plain = new Plain();
  this.stemWord = (word) => plain.stemWord(spelling.reduce((w, [american, ours]) => w.replace(american, ours), word));
})(Stemmer);

addEventListener("DOMContentLoaded", () => {
  Scorer.score = ([docname, , , , score]) => (docname.startsWith("book/api/") ? score - 100 : score);
});
