/* Shuffled reports: epsilon of the whole batch against the number of clients. */
(() => {
  "use strict";
  const { digits, grouped } = ldpkit.base,
    { axes } = ldpkit.shuffleGrid,
    C = axes.clients;

  ldpkit.explorer("shuffle", {
    controls: {
      clients: { label: "Clients", kind: "list", value: 1000, values: C },
      epsilon: { label: "ε of one report", kind: "list", value: 2, values: axes.epsilon },
      delta: {
        label: "Permitted δ",
        kind: "list",
        value: 1e-6,
        values: axes.delta,
        format: (v) => digits(v, 1),
      },
    },
    views: {
      plane: {
        wide: true,
        caption:
          "What the shuffled batch of LDP-SGD gives away about one client, by number of clients. Shaded: the truth about all batches lies here, between an exact pair of batches and a proven bound.",
      },
    },
    start({ plot, say }) {
      return (s) => {
        const found = ldpkit.tools.entries(ldpkit.shuffleGrid, s.epsilon, s.delta),
          at = C.indexOf(s.clients),
          column = (j) => C.map((c, i) => [c, found[i][j] === null ? NaN : found[i][j]]);
        const all = found.flat().filter((v) => v !== null && v > 0),
          low = Math.min(...all) / 1.5,
          [tight, upper, closed] = found[at];
        const p = plot("plane", {
          label: `Epsilon of the batch: ${C.map((c, i) => `${grouped(c)} clients ${digits(found[i][0])} to ${digits(found[i][1])}`).join("; ")}`,
          height: (w) => Math.min(430, Math.max(300, 0.55 * w)),
          left: 64,
          x: {
            domain: [100, 1e5],
            log: true,
            ticks: [100, 1000, 1e4, 1e5],
            title: "clients",
            format: grouped,
          },
          y: {
            domain: [low, Math.max(s.epsilon, ...all) * 1.6],
            log: true,
            title: "ε of the batch",
          },
        });
        p.line(
          [
            [100, s.epsilon],
            [1e5, s.epsilon],
          ],
          "claim",
        ).text(1e5, s.epsilon, "one report alone", "", 0, -7);
        p.area([...column(0), ...column(1).reverse()], "a")
          .line(column(2), "d")
          .line(column(1), "a")
          .line(column(0), "b");
        // all curves fall: below them, on the left, is room for their names
        if (found.some(([, , formula]) => formula !== null))
          p.text(100, low, "closed form", "d", 6, -40);
        p.text(100, low, "proven for all batches", "a", 6, -24).text(
          100,
          low,
          "exact for one pair",
          "b",
          6,
          -8,
        );
        p.dot(s.clients, closed, "d", 6)
          .dot(s.clients, upper, "a", 6)
          .dot(s.clients, tight, "b", 6)
          .end();
        const form =
          closed === null
            ? "The closed form needs more clients"
            : `The closed form allows ${digits(closed)}${closed > s.epsilon ? ", more than no shuffling at all" : ""}`;
        say(
          `${grouped(s.clients)} clients with ε = ${s.epsilon} each: the shuffled batch keeps ε ≤ ${digits(upper)} at δ = ${digits(s.delta, 1)}, and the true ε is at least ${digits(tight)}. ${form}. Shuffling divides ε by ${digits(s.epsilon / upper, 2)}.`,
        );
      };
    },
  });
})();
