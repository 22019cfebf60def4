// A question is read as book/ldpbook/searching.py reads a page; Sphinx puts this file where its search finds it.
// biome-ignore lint/correctness/noUnusedVariables: Sphinx's search calls it
var splitQuery = (query) =>
  query
    .replace(/\bTHE\b/g, "THE_")
    .replace(
      /\b(fig(?:ure)?|table)s?\.?\s*(\d+)/gi,
      (_, kind, number) => (/^t/i.test(kind) ? "table" : "figure") + number,
    )
    .split(/[^\p{Letter}\p{Number}_]+/u)
    .filter((word) => word);

Stemmer = ((Plain) =>
  /** @this {{ stemWord: (word: string) => string }} */
  function () {
    const plain = new Plain(),
      spelling = Object.entries(SPELLING_TABLE);
    this.stemWord = (word) =>
      plain.stemWord(
        spelling.reduce((w, [theirs, ours]) => w.replace(new RegExp(theirs), ours), word),
      );
  })(Stemmer);

// A word of the text before a part of a word in a title ("rad" is in "gradient").
Scorer.partialTitle = 4;
// A term of the glossary that is meant comes first (100), one that only holds the letters (50 to 99) after the pages;
// pages of the chapters before those that collect (errata, glossary, ...), and both before the module's.
Scorer.score = ([docname, , , , score]) =>
  (score > 49 && score < 100 ? 4 : score) -
  (docname.startsWith("book/api/") ? 100 : docname.split("/").length < 3 ? 1 : 0);

// What is shown of a page: its text without the code, from where the words stand; of a glossary's term what it means.
Search.htmlToText = (page, anchor) => {
  const article = new DOMParser().parseFromString(page, "text/html").querySelector("article");
  article
    .querySelectorAll(".headerlink, .cell_input, summary, script, style")
    .forEach((element) => element.remove());
  const place = anchor ? article.querySelector(anchor) : null;
  return (
    place?.matches("dt")
      ? `${place.textContent}: ${place.nextElementSibling.textContent}`
      : (place || article).textContent
  ).trim();
};
Search.makeSearchSummary = (
  (show) => (page, words, anchor) =>
    show(
      page,
      [...words].map((word) => word.replace(/^(figure|table)(?=\d)/, "$1 ")),
      anchor,
    )
)(Search.makeSearchSummary);
