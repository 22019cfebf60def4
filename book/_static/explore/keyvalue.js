/* Key-value data: which auditor sees what. */
(() => {
  "use strict";
  const { digits } = ldpkit.base,
    { entries, named } = ldpkit.tools,
    { axes, values } = ldpkit.keyvalueGrid;
  const WORDS = {
    hkv: "HKV: whole records",
    vkv: "VKV: two positions",
    skv: "SKV: squad and imitators",
    separated: "separated: records less owners",
    probe: "probe: who has no key",
    ldp: "LDP-Auditor's guess",
  };
  const found = (...setting) => entries(ldpkit.keyvalueGrid, ...setting)[0];
  const longest = Math.max(...values.map((v) => (v ? v.length : 0)));

  ldpkit.explorer("keyvalue", {
    controls: {
      mechanism: {
        label: "Mechanism",
        kind: "choice",
        value: "CPP-UE",
        choices: named(axes.mechanism),
      },
      epsilon: { label: "Claimed ε", kind: "list", value: 4, values: axes.epsilon },
      ownership: {
        label: "Key holders",
        kind: "list",
        value: 0.5,
        values: axes.ownership,
        format: (v) => `${100 * v} %`,
      },
      round: { label: "Round", kind: "range", value: longest, min: 1, max: longest, step: 1 },
    },
    views: {
      bars: {
        wide: true,
        caption:
          "What each auditor sees of this mechanism, without noise, in the chosen round. Dashed: the whole claim.",
      },
      rounds: { wide: true, caption: "The same round by round." },
    },
    settle(state, _changes, inputs) {
      inputs.round.disabled = state.mechanism.startsWith("PCKV"); // one report, no rounds
      return inputs.round.disabled ? { round: 1 } : {};
    },
    start({ plot, table, say }) {
      return (s) => {
        const seen = axes.auditor
            .map((a) => [a, found(s.mechanism, a, s.epsilon, s.ownership)])
            .filter(([, v]) => v),
          now = seen.map(([a, v]) => [a, v[Math.min(s.round, v.length) - 1]]);
        const most = Math.max(s.epsilon, ...now.map(([, v]) => v)),
          n = seen.length;
        const p = plot("bars", {
          label: `Seen in round ${s.round}: ${now.map(([a, v]) => `${WORDS[a]} ${digits(v)}`).join("; ")}; claimed ${s.epsilon}`,
          height: 60 + 54 * n,
          left: 20,
          x: { domain: [0, most * 1.08], title: "ε that is seen" },
          y: { domain: [n + 0.1, 0], ticks: [], title: "" },
        });
        p.line(
          [
            [s.epsilon, 0],
            [s.epsilon, n + 0.1],
          ],
          "claim",
        ).text(s.epsilon, 0.05, "claimed", "", -60, 6);
        now.forEach(([a, v], i) =>
          p
            .box([0, v], [i + 0.5, i + 0.92], "a solid")
            .text(0, i + 0.36, `${WORDS[a]}: ${v.toFixed(2)}`, "", 2, 0),
        );
        p.end();
        table(
          "rounds",
          [
            "auditor",
            ...Array.from({ length: seen[0][1].length }, (_, i) =>
              seen[0][1].length > 1 ? `${i + 1}` : "only report",
            ),
          ],
          seen.map(([a, v]) => [WORDS[a].split(":")[0], ...v.map((x) => x.toFixed(2))]),
        );
        const [best, value] = now.reduce((top, one) => (one[1] > top[1] ? one : top));
        say(
          `${s.mechanism.startsWith("PCKV") ? "" : `In round ${s.round} `}${WORDS[best].split(":")[0]} sees most of ${s.mechanism}: ${digits(value)} of the claimed ${s.epsilon} (${digits((100 * value) / s.epsilon, 2)} %). ${value > s.epsilon ? "More than is claimed." : s.ownership < 1 ? `Only ${100 * s.ownership} % of the users hold the key: the others blur what can be seen.` : "Every user holds the key."}`,
          value > s.epsilon ? "bad" : "",
        );
      };
    },
  });
})();
