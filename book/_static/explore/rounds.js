/* Many rounds: the same value collected again and again. */
(() => {
  "use strict";
  const { digits } = ldpkit.base,
    { entries, named } = ldpkit.tools,
    { axes } = ldpkit.roundsGrid;
  const CHAINS = { SUE: "L-SUE", OUE: "L-OSUE", GRR: "L-GRR" };

  ldpkit.explorer("rounds", {
    controls: {
      protocol: { label: "Protocol", kind: "choice", value: "SUE", choices: named(axes.protocol) },
      attack: {
        label: "Question asked",
        kind: "choice",
        value: "guess",
        choices: { guess: "the paper's guess", tight: "likelihood-ratio event" },
      },
      tau: { label: "Collections τ", kind: "list", value: 10, values: axes.tau },
      epsilon: { label: "ε of one report", kind: "list", value: 1, values: axes.epsilon },
      k: { label: "Values k", kind: "list", value: 100, values: axes.k },
    },
    views: {
      plane: {
        wide: true,
        caption:
          "What an audit with a million users per input is expected to prove, by number of collections. Dashed: what is claimed for one report, and for all of them with fresh noise.",
      },
    },
    start({ plot, say }) {
      return (s) => {
        const found = (noise) =>
            entries(ldpkit.roundsGrid, s.protocol, s.attack, noise, s.k, s.epsilon),
          fresh = found("fresh"),
          chained = found("chained"),
          at = axes.tau.indexOf(s.tau);
        const once = axes.tau.map(() => fresh[0]),
          low = Math.min(0.1, ...[...fresh, ...chained].filter((v) => v > 0.005)),
          line = (list) =>
            axes.tau.map((t, i) => [t, list[i] === null ? NaN : Math.max(low / 2, list[i])]);
        const p = plot("plane", {
          label: `Expected bound after ${axes.tau.join(", ")} collections: fresh noise ${fresh.map((v) => digits(v)).join(", ")}`,
          height: (w) => Math.min(430, Math.max(300, 0.55 * w)),
          x: {
            domain: [1, 500],
            log: true,
            ticks: [1, 2, 5, 10, 20, 50, 100, 200, 500],
            title: "collections τ",
          },
          y: { domain: [low, 30], log: true, title: "ε" },
        });
        p.line(
          axes.tau.map((t) => [t, t * s.epsilon]),
          "claim",
        )
          .line(
            [
              [1, s.epsilon],
              [500, s.epsilon],
            ],
            "claim",
          )
          .text(500, s.epsilon, "claimed for one", "", -20, -6)
          .text(Math.min(500, 24 / s.epsilon), 24, "claimed for all", "", 10, 4);
        if (fresh[0] === null)
          p.text(
            1,
            3,
            `No closed form is known of the guess against several ${s.protocol} reports.`,
            "",
            20,
          );
        else {
          p.line(line(once), "c")
            .text(500, once[0], "the same report again", "c", 0, 18)
            .line(line(fresh), "bad")
            .text(500, fresh[fresh.length - 1], "fresh noise", "bad", 0, 34);
          if (chained[0] !== null)
            p.line(line(chained), "a")
              .text(50, chained[6], CHAINS[s.protocol], "a", 4, 18)
              .dot(s.tau, chained[at], "a", 6);
          p.dot(s.tau, Math.max(low / 2, fresh[at]), "bad", 7).dot(s.tau, once[0], "c", 6);
        }
        p.end();
        if (fresh[0] === null)
          say(
            `No closed form is known of the guess against several ${s.protocol} reports: ask for the likelihood-ratio event.`,
          );
        else
          say(
            `After ${s.tau} collection${s.tau > 1 ? "s" : ""} with fresh noise an audit proves about ${digits(fresh[at])}. Claimed is ${s.epsilon} for one report, and ${digits(s.tau * s.epsilon)} for all. The same report again gives away no more than one: ${digits(once[0])}.${chained[0] === null ? "" : ` Two rounds of noise (${CHAINS[s.protocol]}): ${digits(chained[at])}.`}`,
          );
      };
    },
  });
})();
