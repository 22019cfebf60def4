/* Utility against leakage: what weights choose on the fronts of four families. */
(() => {
  "use strict";
  const { max, min } = Math,
    { digits } = ldpkit.base,
    { percent } = ldpkit.tools,
    { front, objectives } = ldpkit.laws;
  const NAMED = {
    ss: { name: "ASS", words: "subset selection", mark: "a", classical: ["SS"], symbol: "ω" },
    ue: { name: "AUE", words: "unary encoding", mark: "b", classical: ["SUE", "OUE"], symbol: "p" },
    lh: { name: "ALH", words: "local hashing", mark: "c", classical: ["BLH", "OLH"], symbol: "g" },
    he: {
      name: "ATHE",
      words: "histogram encoding",
      mark: "d",
      classical: ["SHE", "THE"],
      symbol: "θ",
    },
  };

  ldpkit.explorer("utility", {
    controls: {
      success: {
        label: "Weight of success",
        kind: "range",
        value: 0.5,
        min: 0,
        max: 1,
        step: 0.01,
      },
      gain: { label: "Weight of poisoning", kind: "range", value: 0, min: 0, max: 1, step: 0.01 },
      k: {
        label: "Values k",
        kind: "list",
        value: 100,
        values: [3, 5, 10, 25, 50, 100, 200, 360, 500, 1000],
      },
      epsilon: { label: "Budget ε", kind: "range", value: 4, min: 0.5, max: 8, step: 0.25 },
      users: {
        label: "Users who report",
        kind: "list",
        value: 1,
        values: [1, 10, 100, 1000, 10000],
      },
    },
    views: {
      plane: {
        wide: true,
        caption:
          "Each curve is one family: its points differ in the protocol's parameter only, all with the same ε. Filled: what the weights choose; hollow: the protocols with a rule of their own. Left is safer, down is more exact. The variance is that of all users who report.",
      },
      chosen: {
        wide: true,
        caption: `The chosen protocols (${Object.values(NAMED)
          .map(({ name, words }) => `${name}: ${words}`)
          .join(
            ", ",
          )}) beside the classical ones. Success: how often the paper's attack names the value behind a report. Error: variance of an estimated frequency. Gain: what 5 % of fake users add to ten values.`,
      },
    },
    start({ plot, table, say }) {
      let key = "",
        fronts = {};
      return (s) => {
        if (key !== `${s.k} ${s.epsilon}`) {
          key = `${s.k} ${s.epsilon}`;
          fronts = Object.fromEntries(
            Object.keys(NAMED).map((family) => [family, front(family, s.k, s.epsilon)]),
          );
        }
        const weights = [
          s.success * (1 - s.gain),
          ((1 - s.success) * (1 - s.gain)) / s.users,
          s.gain,
        ];
        const sum = (point) =>
          weights[0] * point.asr +
          weights[1] * point.mse +
          (weights[2] ? weights[2] * point.epg : 0);
        const chosen = Object.fromEntries(
          Object.entries(fronts).map(([family, points]) => [
            family,
            points.reduce((found, point) => (sum(point) < sum(found) ? point : found)),
          ]),
        );
        const fixed = Object.values(NAMED).flatMap(({ classical, mark }) =>
          classical.map((name) => ({ name, mark, ...objectives(name, s.k, s.epsilon) })),
        );
        const all = [...fixed, ...Object.values(chosen)],
          error = (v) => v / s.users;
        const most = max(...fixed.map((f) => f.asr), ...Object.values(chosen).map((c) => c.asr)),
          low = min(...all.map((f) => f.mse)),
          high = max(...all.map((f) => f.mse));
        const p = plot("plane", {
          label: `Success and error of the chosen protocols: ${Object.entries(chosen)
            .map(([f, c]) => `${NAMED[f].name} ${percent(c.asr)} and ${digits(error(c.mse))}`)
            .join("; ")}`,
          height: (w) => min(430, max(300, w * 0.6)),
          left: 68,
          x: { domain: [0, most * 1.15], title: "attacker's success", format: percent },
          y: {
            domain: [error(low) / 2, error(high) * 2.5],
            log: true,
            title: "variance of a frequency",
          },
        });
        for (const [family, points] of Object.entries(fronts))
          p.line(
            [...points].sort((a, b) => a.parameter - b.parameter).map((c) => [c.asr, error(c.mse)]),
            NAMED[family].mark,
          );
        p.names([
          ...Object.entries(chosen).map(([family, c]) => [
            c.asr,
            error(c.mse),
            NAMED[family].name,
            NAMED[family].mark,
          ]),
          ...fixed.map((f) => [f.asr, error(f.mse), f.name, f.mark]),
        ]);
        for (const f of fixed) p.dot(f.asr, error(f.mse), `hollow ${f.mark}`, 5);
        for (const [family, c] of Object.entries(chosen))
          p.dot(c.asr, error(c.mse), NAMED[family].mark, 7);
        p.end();
        table(
          "chosen",
          ["protocol", "parameter", "success", "error", "gain"],
          [
            ...Object.entries(chosen).map(([family, c]) => [
              NAMED[family].name,
              `${NAMED[family].symbol} = ${digits(c.parameter, 4)}`,
              percent(c.asr),
              digits(error(c.mse)),
              digits(c.epg),
            ]),
            ...fixed.map((f) => [f.name, "own rule", percent(f.asr), digits(error(f.mse)), "–"]),
          ],
        );
        const [family, best] = Object.entries(chosen).reduce((found, one) =>
            sum(one[1]) < sum(found[1]) ? one : found,
          ),
          rival = fixed.reduce((found, f) => (f.mse < found.mse ? f : found));
        say(
          `${NAMED[family].name} with ${NAMED[family].symbol} = ${digits(best.parameter, 4)} has the least weighted sum: attackers name ${percent(best.asr)} of the values, the variance is ${digits(error(best.mse))}. The most exact classical protocol, ${rival.name}: ${percent(rival.asr)} and ${digits(error(rival.mse))}.`,
        );
      };
    },
  });
})();
