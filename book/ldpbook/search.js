// A question is read as book/ldpbook/wording.py reads a page; Sphinx puts this file where its search finds it.
const wordsOf = (text) =>
  text
    .replace(/\bTHE\b/g, "THE_")
    .replace(
      /\b(fig(?:ure)?|table)s?\.?\s*(\d+)/gi,
      (_, kind, number) => (/^t/i.test(kind) ? "table" : "figure") + number,
    )
    .split(/[^\p{Letter}\p{Number}_]+/u)
    .filter((word) => word);
const telling = (word) => !stopwords.includes(word.toLowerCase());
const stems = (text) => {
  const stemmer = new Stemmer();
  return wordsOf(text)
    .filter(telling)
    .map((word) => stemmer.stemWord(word.toLowerCase()));
};
let asked = [];
// biome-ignore lint/correctness/noUnusedVariables: Sphinx's search calls it
var splitQuery = (query) => {
  asked = stems(query);
  return wordsOf(query).filter(telling);
};

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
// A term of the glossary and a name that are meant come first (100), one that only holds the letters (50 to 99) after the
// pages; among pages those with more of the words in their title; pages of the chapters before those that collect (errata,
// glossary, ...), and both before the module's.
Scorer.score = ([docname, title, , , score]) => {
  const named = stems(title);
  return (
    (score > 49 && score < 100 ? 4 : score) +
    3 * asked.filter((word) => named.includes(word)).length -
    (docname.startsWith("book/api/") ? 3000 : docname.split("/").length < 3 ? 1 : 0)
  );
};

// What a question is compared with titles and names as: itself if one of them holds it, else the longest name of a page whose
// words are all asked for ("how many reports" in "how many reports do I need"), else its words without stop words.
const meant = (question) => {
  const { alltitles, indexentries } = Search._index,
    names = Object.keys(indexentries),
    wanted = stems(question);
  const holds = (name) => name.toLowerCase().includes(question.toLowerCase().trim());
  if (names.some(holds) || Object.keys(alltitles).some(holds)) return question;
  const within = names
    .map((name) => ({ name, words: stems(name) }))
    .filter(({ words }) => words.length > 1 && words.every((word) => wanted.includes(word)))
    .sort((a, b) => b.words.length - a.words.length);
  return (
    within[0]?.name ||
    question
      .split(/[\s?!.,]+/)
      .filter(telling)
      .join(" ")
  );
};
Search._performSearch = (
  (perform) =>
  (question, ...words) =>
    perform(meant(question), ...words)
)(Search._performSearch);

// A word that no page has is asked as the most similar word that some page has, if one letter is wrong, missing, doubled or in
// its neighbour's place (two in words of eight letters or more); the reader is told.
const edits = (a, b) => {
  const rows = [[...Array(b.length + 1).keys()]];
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      rows[i][j] = Math.min(
        rows[i - 1][j] + 1,
        rows[i][j - 1] + 1,
        rows[i - 1][j - 1] + Number(a[i - 1] !== b[j - 1]),
        swapped ? rows[i - 2][j - 2] + 1 : Infinity,
      );
    }
  }
  return rows[a.length][b.length];
};
const spelled = (/** @type {string} */ word) => {
  const { terms, titleterms, alltitles, indexentries } = Search._index,
    known = [...Object.keys(terms), ...Object.keys(titleterms)],
    asked = word.toLowerCase(),
    stem = stems(word)[0];
  if (!stem || stem.length < 4 || known.some((term) => term.includes(stem))) return word;
  const named = wordsOf([...Object.keys(alltitles), ...Object.keys(indexentries)].join(" ")),
    whole = new Set(named.map((name) => name.toLowerCase()));
  const near = [...new Set([...whole, ...known])]
    .filter((name) => !/\d/.test(name))
    .map((name) => ({ name, far: edits(whole.has(name) ? asked : stem, name) }))
    .sort((a, b) => a.far - b.far)[0];
  if (near.far > (asked.length < 8 ? 1 : 2)) return word;
  return [...whole].find((name) => stems(name)[0] === near.name) || near.name; // a reader knows words, not stems
};
const note = (/** @type {string} */ words) =>
  Search.status.before(Object.assign(document.createElement("p"), { textContent: words }));
Search._parseQuery = ((parse) => (/** @type {string} */ query) => {
  const corrected = query.replace(/\p{Letter}+/gu, spelled);
  if (corrected !== query)
    note(`No page has all words of “${query}”. Searched for “${corrected}” instead.`);
  const read = parse(corrected),
    marked = read[3];
  for (const word of marked) if (word.length < 3) marked.delete(word); // a letter of a name stands in every word
  localStorage.setItem("sphinx_highlight_terms", [...marked].join(" "));
  return read;
})(Search._parseQuery);

// Where fewer than three pages have all words of a question, those that have most of them follow, rare words before common ones.
const NOTHING_FOUND =
  "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.";
Documentation.TRANSLATIONS[NOTHING_FOUND] = "No page has these words. Ask with other words.";
Search.performTermsSearch = (
  (perform) => (/** @type {Set<string>} */ terms, /** @type {Set<string>} */ excluded) => {
    const all = perform(terms, excluded),
      query = new URLSearchParams(location.search).get("q"),
      typed = (term) => wordsOf(query).find((word) => stems(word)[0] === term) || term,
      having = [...terms].map((term) => perform(new Set([term]), excluded)),
      unknown = [...terms].filter((_, i) => !having[i].length).map(typed);
    const missed = `No page has “${unknown.join("”, “")}”.`;
    if (unknown.length)
      Documentation.TRANSLATIONS[NOTHING_FOUND] = `${missed} Ask with other words.`;
    if (all.length > 2 || terms.size < 2) return all;
    const found = {};
    for (const pages of having)
      for (const page of pages.filter(([name]) => !all.some((each) => each[0] === name))) {
        found[page[0]] ||= { page, words: 0, score: 0 };
        found[page[0]].words++;
        found[page[0]].score += page[4] + 100 / pages.length;
      }
    const most = Math.max(0, ...Object.values(found).map(({ words }) => words)),
      others = Object.values(found).filter(({ words }) => words === most);
    if (!most) return all;
    const question = `all ${terms.size} words of “${query}”`,
      few = ["No page has", "Only one page has", "Only two pages have"][all.length],
      known = [...terms].map(typed).filter((word) => !unknown.includes(word)),
      had = most === known.length ? `“${known.join("”, “")}”` : `${most} of them`;
    note(
      `${unknown.length ? missed : `${few} ${question}.`} ${all.length ? "The others" : "These"} have ${had}.`,
    );
    others.sort((a, b) => b.score - a.score);
    const after = ({ page, score }) => page.with(4, score - 1000); // behind the pages with all words
    return [...all, ...others.slice(0, 20).map(after)];
  }
)(Search.performTermsSearch);

// A keyboard goes on at the results; their heading is not shown.
Search.stopPulse = ((stop) => () => {
  stop();
  Search.status.tabIndex = -1;
  if (document.activeElement === document.body) Search.status.focus({ preventScroll: true });
})(Search.stopPulse);

// What is shown of a page: the sentence in which the words stand, those behind it, and how its numbers and statements compare with
// the paper; of a glossary's term what it means.
Search.htmlToText = (page, anchor) => {
  const article = new DOMParser().parseFromString(page, "text/html").querySelector("article");
  const silent =
    ".headerlink, .cell_input, .made-by, .page-needs, .page-errata, .page-status, .run-record, summary, table, script, style";
  article.querySelectorAll(silent).forEach((element) => element.remove());
  const place = anchor ? article.querySelector(anchor) : null;
  if (place?.matches("dt"))
    return `${place.textContent}: ${place.nextElementSibling.textContent}`.trim();
  const said = [...(place || article).querySelectorAll("p, li, dd")].filter(
    (e) => !e.querySelector("p"),
  );
  const plain = (text) => text.replace(/\\[()]|\\(?=[a-z])/g, "").replace(/\s+/g, " ");
  return said.map((e) => plain(e.textContent).trim()).join("\n");
};
Search.makeSearchSummary = (page, words, anchor) => {
  const text = Search.htmlToText(page, anchor),
    wanted = [...words].map((word) => word.toLowerCase().replace(/^(figure|table)(?=\d)/, "$1 "));
  const sentences = [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)].map(
    (s) => s.segment,
  );
  const holds = sentences.map(
      (s) => wanted.filter((word) => s.toLowerCase().includes(word)).length,
    ),
    from = holds.indexOf(Math.max(...holds));
  let shown = "";
  for (const sentence of sentences.slice(from))
    if (shown.length < 160) shown += sentence.replace("\n", " ");
  const status = new DOMParser().parseFromString(page, "text/html").querySelector(".page-status"),
    state = status?.querySelector(".state")?.textContent;
  if (state && wanted.includes("reproduc")) {
    status
      .querySelectorAll("a[href^='#'], a[href*='explore/'], details")
      .forEach((element) => element.remove());
    shown = status.textContent.replace(/[\s·]+$/, "");
  } else if (state) shown = `${shown.trim()} (${state})`;
  return Object.assign(document.createElement("p"), {
    className: "context",
    textContent: shown.trim(),
  });
};
