/* Reconstruction advantage against the number of records, and against the prior. */
(() => {
  "use strict";
  const { digits, grouped } = ldpkit.base;
  const MARKS = { GRR: "a", SS: "b", OUE: "c" },
    RECORDS = [2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000];
  /* Weights that fall like a power of the rank, as words and sites do. */
  const zipf = (m, power) => {
    const weights = Array.from({ length: m }, (_, i) => (i + 1) ** -power),
      sum = weights.reduce((a, w) => a + w);
    return weights.map((w) => w / sum);
  };

  ldpkit.explorer("reconstruction", {
    controls: {
      epsilon: { label: "Budget ε", kind: "range", value: 2, min: 0.1, max: 8, step: 0.1 },
      m: { label: "Records m", kind: "list", value: 20, values: RECORDS },
      skew: {
        label: "Skew of the prior",
        kind: "range",
        value: 0,
        min: 0,
        max: 3,
        step: 0.1,
        format: (v) => (v ? v.toFixed(1) : "uniform"),
      },
    },
    views: {
      plane: {
        wide: true,
        caption:
          "Largest advantage of any adversary over blind guessing, exact. The dashed line is a bound for every mechanism with this ε. If the prior is skewed, it is the looser bound total variation × (1 − κ). Here κ is the chance that two records agree.",
      },
      prior: {
        caption: "The prior: what the adversary knows before the report, record by record.",
      },
      gain: { caption: "The same advantage by ε, at the chosen number of records." },
    },
    start({ plot, say, views }) {
      return (s) => {
        const names = s.skew ? ["GRR", "OUE"] : ["GRR", "SS", "OUE"];
        const of = (mechanism, m, epsilon) =>
          ldpkit.rad({ mechanism, m, epsilon, ...(s.skew ? { prior: zipf(m, s.skew) } : {}) });
        const limit = (m, epsilon) => {
          const found = of("GRR", m, epsilon);
          return s.skew
            ? found.total * (1 - zipf(m, s.skew).reduce((a, w) => a + w * w, 0))
            : found.limit;
        };
        const advantages = Object.fromEntries(
            names.map((name) => [name, of(name, s.m, s.epsilon).rad]),
          ),
          roof = limit(s.m, s.epsilon);
        const top = Math.max(...RECORDS.map((m) => limit(m, s.epsilon))) * 1.12,
          share = { format: (v) => digits(v, 2) };
        const p = plot("plane", {
          label: `Advantage at ${s.m} records: ${names.map((n) => `${n} ${digits(advantages[n])}`).join(", ")}; limit ${digits(roof)}`,
          height: (w) => Math.min(380, Math.max(280, 0.5 * w)),
          x: {
            domain: [2, 1000],
            log: true,
            ticks: [
              2,
              5,
              10,
              20,
              50,
              100,
              200,
              ...(views.plane.clientWidth < 450 ? [] : [500]),
              1000,
            ],
            title: "records m",
          },
          y: { ...share, domain: [0, top], title: "advantage" },
        });
        p.line(
          RECORDS.map((m) => [m, limit(m, s.epsilon)]),
          "claim",
        );
        for (const name of names)
          p.line(
            RECORDS.map((m) => [m, of(name, m, s.epsilon).rad]),
            MARKS[name],
          ).dot(s.m, advantages[name], MARKS[name], 6);
        names.forEach((name, i) =>
          p.text(30, of(name, 30, s.epsilon).rad, name, MARKS[name], 8 + 44 * i, -8),
        );
        p.end();
        const prior = zipf(s.m, s.skew),
          bars = Math.min(s.m, 30),
          most = prior[0] * 1.1;
        const b = plot("prior", {
          label: `Prior of the likeliest record ${digits(prior[0])}, of the last ${digits(prior[s.m - 1])}`,
          height: 210,
          x: {
            domain: [0.3, bars + 0.7],
            title: s.m > bars ? `records by rank, the first ${bars}` : "records by rank",
            ticks: [1, ...[5, 10, 15, 20, 25, 30].filter((v) => v <= bars)],
          },
          y: { ...share, domain: [0, most], title: "prior" },
        });
        prior.slice(0, bars).forEach((w, i) => b.box([i + 0.6, i + 1.4], [0, w], "d solid"));
        b.end();
        const budgets = Array.from({ length: 33 }, (_, i) => 0.1 + (i * 7.9) / 32);
        const g = plot("gain", {
          label: `Advantage by ε at ${s.m} records`,
          height: 210,
          x: { domain: [0, 8], title: "ε" },
          y: { ...share, domain: [0, 1], title: "advantage" },
        });
        g.line(
          budgets.map((e) => [e, limit(s.m, e)]),
          "claim",
        );
        for (const name of names)
          g.line(
            budgets.map((e) => [e, of(name, s.m, e).rad]),
            MARKS[name],
          ).dot(s.epsilon, advantages[name], MARKS[name], 5);
        g.end();
        const list = names.map((n) => `${n} ${digits(100 * advantages[n])}`).join(", ");
        say(
          `There are ${grouped(s.m)} possible records. One report raises the chance of naming the right one by at most these percentage points: ${list}. No mechanism with ε = ${s.epsilon} allows more than ${digits(100 * roof)}. (Before the report: ${digits(100 * prior[0])} % at best.)`,
        );
      };
    },
  });
})();
