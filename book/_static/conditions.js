/* Sentences that hold at some parameters only: strike those whose condition a run of the page found false. `ldpkit.conditions` takes
   what the page's last cell showed, for each condition whether it holds, and the book's values of the parameters that differ.
   Without verdicts the page shows those of the built book again. */
(() => {
  "use strict";
  const found = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-when]"));
  const sentences = [...found];
  const built = new Map(
    sentences.map((one) => [
      one,
      { holds: one.dataset.condition !== "false", words: one.nextSibling?.textContent },
    ]),
  );
  const element = (tag, name, words) =>
    Object.assign(document.createElement(tag), { className: name, textContent: words });

  function judge(sentence, holds, words) {
    const struck = sentence.dataset.condition === "false";
    sentence.dataset.condition = String(holds);
    if (struck) {
      sentence.firstChild.remove();
      sentence.nextSibling.remove();
      sentence.removeAttribute("role");
    }
    if (holds) return;
    sentence.setAttribute("role", "deletion");
    sentence.prepend(element("span", "visually-hidden", "Not for these parameters: "));
    sentence.after(element("em", "when-remark", words));
  }
  function conditions(verdicts = {}, values = []) {
    let named = ` (${values.join(", ")})`; // once, because there may be many
    for (const sentence of sentences) {
      const { when } = sentence.dataset,
        { holds, words } = built.get(sentence),
        theirs = holds ? " true in the run of this site, not in yours." : words,
        still = when in verdicts ? !!verdicts[when] : holds,
        yours = ` true for the book's parameters${named}, not for yours.`;
      judge(sentence, still, values.length ? yours : theirs);
      if (!still && values.length > 3) named = "";
    }
  }
  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, { conditions });
})();
