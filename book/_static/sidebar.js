/* The contents of the book on the left and those of the page on the right, which the theme shows in a drawer where they have no room.
   This script runs before the theme's scripts. */
for (const [name, words] of [
  ["primary", "Contents of the book"],
  ["secondary", "Contents of this page"],
]) {
  const button = /** @type {HTMLElement} */ (document.querySelector(`.${name}-toggle`)),
    contents = document.querySelector(`#pst-${name}-sidebar`),
    drawer = /** @type {HTMLDialogElement} */ (
      document.querySelector(`#pst-${name}-sidebar-modal`)
    );
  if (!button || !contents) continue;
  button.title = drawer.ariaLabel = words;
  button.removeAttribute("data-bs-toggle"); // the theme's tooltip would stay as long as the button has the focus
  button.blur = () => {}; // the theme takes the focus from a pressed button, and a keyboard cannot press it again
  contents.insertAdjacentHTML(
    "afterbegin",
    '<form method="dialog" class="close-drawer"><button>Close</button></form>',
  );
  drawer.addEventListener("click", (event) => {
    const section = /** @type {Element} */ (event.target).closest("a[href^='#']");
    if (section) drawer.close(); // it is on the page behind the drawer
  });
  document.addEventListener("DOMContentLoaded", () =>
    button.addEventListener("click", () => reveal(drawer)),
  );
}

for (const one of document.querySelectorAll(".theme-switch-button")) {
  const theme = /** @type {HTMLElement} */ (one);
  theme.removeAttribute("data-bs-toggle"); // as above
  theme.title = "Light or dark";
  theme.blur = () => {};
}

/* Show the entry of the page at hand. The theme scrolls the contents to where they stood on the last page; a reader who followed a
   link of the text would look at another chapter. The first line is whole. */
function reveal(contents) {
  const entries = [...contents.querySelectorAll(".bd-docs-nav :is(a, p)")].filter((entry) =>
      entry.checkVisibility(),
    ),
    current = entries.filter((entry) => entry.matches(".current")).pop();
  if (!current) return;
  const place = (entry) => entry.getBoundingClientRect(),
    frame = place(contents),
    { top, bottom } = place(current);
  if (top >= frame.top && bottom <= Math.min(frame.bottom, innerHeight)) return;
  const first = entries.find((entry) => place(entry).top > top - contents.clientHeight / 4);
  contents.scrollTop += place(first).top - frame.top;
}
document.addEventListener("DOMContentLoaded", () => {
  const contents = document.querySelector("#pst-primary-sidebar");
  if (!sessionStorage.getItem("sidebar-scroll-top")) contents.scrollTop = 0; // the theme scrolls too early
  reveal(contents);
});

/* The entries that a reader opens are scrolled into sight below their heading, as many as have room. */
for (const summary of document.querySelectorAll(".bd-docs-nav summary"))
  summary.addEventListener("click", () => {
    const fold = /** @type {HTMLDetailsElement} */ (summary.parentElement);
    const show = () => {
      if (!fold.open) return;
      fold.scrollIntoView({ block: "nearest" });
      if (fold.clientHeight > innerHeight / 2) summary.scrollIntoView({ block: "start" });
    };
    fold.addEventListener("toggle", show, { once: true });
  });

/* The explanation of a word below it, where a reader presses: a title is seen only by a pointer that rests. */
document.addEventListener("click", ({ target }) => {
  const word = /** @type {HTMLElement} */ (
    /** @type {Element} */ (target).closest("article abbr[title]")
  );
  if (!word || word.closest("a, button, summary, label")) return;
  const note = document.createElement("div"),
    { left, bottom } = word.getBoundingClientRect();
  note.className = "word-note";
  note.popover = "auto"; // a press elsewhere closes it
  note.setAttribute("role", "status");
  note.textContent = word.title;
  note.addEventListener("toggle", ({ newState }) => newState === "closed" && note.remove());
  document.body.append(note);
  note.showPopover();
  note.style.top = `${bottom + 6}px`;
  note.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - note.offsetWidth - 8))}px`;
});
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") document.querySelector(".word-note")?.remove(); // also where a script of the theme takes the key
});
addEventListener("load", () => {
  for (const copy of document.querySelectorAll(".copybtn")) copy.ariaLabel = "Copy this code"; // it holds only a picture
});
