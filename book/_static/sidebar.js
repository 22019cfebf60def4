/* The contents on the left show the entry of the page at hand. The theme scrolls them to where they stood on the last page; a reader
   who followed a link of the text would look at another chapter. This runs after the theme's scripts. */
document.addEventListener("DOMContentLoaded", () => {
  const contents = document.querySelector("#pst-primary-sidebar"),
    entry = [...document.querySelectorAll("#pst-primary-sidebar .bd-docs-nav a.current")].pop();
  if (!entry) return;
  const frame = contents.getBoundingClientRect(),
    { top, bottom } = entry.getBoundingClientRect();
  if (top < frame.top || bottom > Math.min(frame.bottom, innerHeight))
    contents.scrollTop += top - frame.top - contents.clientHeight / 4;
});
