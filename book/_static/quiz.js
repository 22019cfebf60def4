/* Answer boxes. A box has the number it accepts in data-answer, put there from the executed notebook, or asks the laws of the page
   (data-law, data-with, data-take) when it is clicked. Nothing is sent and nothing is kept. */
(() => {
  "use strict";

  /* What a typed text may mean: a decimal point or comma, commas between thousands, a percentage, a fraction, any minus. */
  function readings(text) {
    const plain = text
      .trim()
      .replace(/\s+/g, "")
      .replace(/[\u2212\u2013]/g, "-");
    const [, body, percent] = plain.match(/^(.*?)(%?)$/),
      number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
    const forms = [
      body.replace(",", "."),
      /^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(body) ? body.replaceAll(",", "") : "",
    ];
    const found = forms.filter((form) => number.test(form)).map(Number),
      [top, below, ...more] = body.split("/");
    if (!more.length && below !== undefined && number.test(top) && number.test(below) && +below)
      found.push(top / below);
    return percent ? found.map((value) => value / 100) : found;
  }
  function wanted({ answer, law, with: given, take }) {
    return law ? ldpkit[law](JSON.parse(given))[take] : +answer;
  }
  function judge(box, text) {
    const found = readings(text),
      right = wanted(box.dataset),
      tolerance = +box.dataset.tolerance;
    if (!found.length) return ["", "Please give one number, such as 0.25, 0,25, 25 % or 1/4."];
    const near = found.reduce((a, b) => (Math.abs(b - right) < Math.abs(a - right) ? b : a));
    const digits = Math.max(0, Math.ceil(-Math.log10(tolerance)));
    const close = (value) => Math.abs(value - right) <= tolerance * (1 + 1e-9);
    if (close(near)) return ["good", `Right: ${right.toFixed(digits).replace("-", "\u2212")}.`];
    const share = found.map((value) => +(value / 100).toPrecision(12)).find(close);
    if (right < 1 && share !== undefined && !text.includes("%"))
      return ["bad", `Not yet: write ${share}, or ${text.trim()} %.`];
    return ["bad", `Not yet: ${near < right ? "more" : "less"} than that.`];
  }
  function begin(box) {
    const input = box.querySelector("input"),
      said = box.querySelector("[role=status]");
    function check() {
      const [tone, words] = judge(box, input.value);
      said.textContent = words;
      said.dataset.tone = tone;
      if (tone === "good") box.querySelector(".quiz-why").open = true;
    }
    box.querySelector("button").addEventListener("click", check);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") check();
    });
    box.dataset.state = "ready";
  }
  document.querySelectorAll("[data-quiz]:not([data-state])").forEach(begin);
})();
