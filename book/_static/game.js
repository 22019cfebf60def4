/* The privacy game of LDP-Auditor's Figure 9. A coin decides between two secrets, the page draws one report, and the reader names the
   secret. The odds are those of the best attacker. <div class="quiz" data-game="NAME"> has a text for readers without scripts. */
(() => {
  "use strict";
  const { abs, exp, floor, log, random, sign } = Math,
    { button, make } = ldpkit.base,
    VALUES = 4,
    RECORDS = 100;

  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  /* Each game: the two answers, one drawn report about a secret (true: the first), and how often the best attacker is right. */
  const GAMES = {
    local: {
      answers: ["The value is 1", "The value is 2"],
      odds: (epsilon) => 0.5 + (exp(epsilon) - 1) / (2 * (exp(epsilon) + VALUES - 1)),
      draw(first, epsilon, next) {
        const own = first ? 1 : 2,
          kept = next() < exp(epsilon) / (exp(epsilon) + VALUES - 1),
          other = 1 + floor(next() * (VALUES - 1));
        const sent = kept ? own : other + +(other >= own);
        return { seen: sent, words: `The report of GRR says: ${sent} (of ${VALUES} values).` };
      },
      best: (seen, next) => (seen > 2 ? next() < 0.5 : seen === 1),
    },
    central: {
      answers: ["Alice is in the data", "Alice is not in the data"],
      odds: (epsilon) => 1 - exp(-epsilon / 2) / 2,
      draw(first, epsilon, next) {
        const u = next() - 0.5,
          count = RECORDS + +first - (sign(u) * log(1 - 2 * abs(u))) / epsilon;
        return {
          seen: count,
          words: `The noisy number of records says: ${count.toFixed(1)}. There are ${RECORDS} without Alice.`,
        };
      },
      best: (seen) => seen > RECORDS + 0.5,
    },
  };

  function begin(box) {
    const game = GAMES[box.dataset.game],
      shown = make("p", { class: "quiz-question" }),
      said = make("p", { role: "status" }),
      budget = make(
        "select",
        {},
        ...["0.5", "1", "2", "4"].map((value) => make("option", { value }, `ε = ${value}`)),
      );
    let first = false,
      seen = 0,
      tally = { rounds: 0, reader: 0, best: 0 };
    function deal() {
      first = random() < 0.5;
      const report = game.draw(first, +budget.value, random);
      seen = report.seen;
      shown.textContent = report.words;
    }
    function answer(guess) {
      tally.rounds++;
      tally.reader += +(guess === first);
      tally.best += +(game.best(seen, random) === first);
      const right = guess === first;
      said.dataset.tone = right ? "good" : "bad";
      const truth = game.answers[first ? 0 : 1].toLowerCase().replace("alice", "Alice");
      said.textContent = `Last round: ${right ? "right" : "wrong"}, ${truth}. You are right in ${tally.reader} of ${tally.rounds} rounds, the best attacker in ${tally.best}. In the long run: ${percent(game.odds(+budget.value))}.`;
      deal();
    }
    function restart() {
      tally = { rounds: 0, reader: 0, best: 0 };
      said.textContent = `The best attacker is right in ${percent(game.odds(+budget.value))} of all rounds, and a coin in 50 %.`;
      delete said.dataset.tone;
      deal();
    }
    budget.value = "1";
    budget.addEventListener("change", restart);
    box.replaceChildren(
      shown,
      make(
        "div",
        { class: "quiz-answer" },
        ...game.answers.map((words, i) => button(words, () => answer(i === 0))),
        make("label", {}, "budget ", budget),
      ),
      said,
    );
    box.dataset.state = "ready";
    restart();
  }
  ldpkit.games = GAMES;
  document.querySelectorAll("[data-game]:not([data-state])").forEach(begin);
})();
