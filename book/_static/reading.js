/* A link to something folded opens the folds around it. */
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
})();
