/* What an audit can say: a point in the plane of the two rates, and what counts prove about it. */
(() => {
  "use strict";
  const { exp, log, max, min, round } = Math,
    { digits, grouped, least } = ldpkit.base,
    K = 100;
  const STARTS = {
    free: "a point of my own",
    "GRR/tight": "GRR",
    "SUE/tight": "SUE, likelihood-ratio event",
    "SUE/guess": "SUE, the paper's guess",
    "OUE/tight": "OUE, likelihood-ratio event",
    "OUE/guess": "OUE, the paper's guess",
    "OLH/guess": "OLH, the paper's guess",
    "FaultyUE/tight": "pure-ldp 1.1.2's SUE, likelihood-ratio event",
  };

  ldpkit.explorer("audit", {
    controls: {
      start: { label: "Rates", kind: "choice", value: "SUE/tight", choices: STARTS },
      tpr: {
        label: "TPR",
        kind: "range",
        value: 0.39,
        min: 0,
        max: 1,
        step: 0.005,
        format: (v) => digits(v),
      },
      fpr: {
        label: "FPR",
        kind: "range",
        value: 0.14,
        min: 0,
        max: 1,
        step: 0.005,
        format: (v) => digits(v),
      },
      trials: {
        label: "Reports per input",
        kind: "list",
        value: 1000,
        values: [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6],
      },
      epsilon: { label: "Claimed ε", kind: "range", value: 1, min: 0.1, max: 5, step: 0.1 },
      delta: {
        label: "Claimed δ",
        kind: "list",
        value: 0,
        values: [0, 1e-6, 0.001, 0.01, 0.05, 0.1, 0.2],
      },
      confidence: {
        label: "Confidence",
        kind: "list",
        value: 0.99,
        values: [0.8, 0.9, 0.95, 0.99, 0.999, 0.999999],
        format: (v) => `${+(100 * v).toFixed(4)} %`,
      },
    },
    views: {
      plane: {
        caption: `Not shaded: the rates that the claim allows, whatever the event. Shaded: those that break it. Move the point (drag it, or use the sliders); the box holds the true rates at the chosen confidence. Dashed ray: all points with the proven ratio. Protocols are those at the claimed ε and k = ${K}.`,
      },
      reports: {
        caption:
          "What the same rates would prove with other numbers of reports: the bound (line), its ceiling at perfect rates (thin), the claim (dashed), and the limit ln(TPR / FPR) of this question (dots).",
      },
    },
    settle(state, changes) {
      if (("tpr" in changes || "fpr" in changes) && !("start" in changes)) state.start = "free"; // a rate was moved
      if (state.start === "free") return { start: "free" };
      const [mechanism, attack] = state.start.split("/"),
        { tpr, fpr } = ldpkit.rates({ mechanism, k: K, epsilon: state.epsilon, attack });
      return { tpr, fpr };
    },
    derived: (state) => (state.start === "free" ? [] : ["tpr", "fpr"]),
    start({ plot, say, views, change }) {
      const view = views.plane;
      view.classList.add("drag");
      let plane = null,
        held = false;
      const moved = (event) => {
        const [fpr, tpr] = plane.at(event).map((v) => +(round(v / 0.005) * 0.005).toFixed(3));
        change({ tpr, fpr });
      };
      view.addEventListener("pointerdown", (event) => {
        held = true;
        view.setPointerCapture(event.pointerId);
        moved(event);
      });
      view.addEventListener("pointermove", (event) => held && moved(event));
      for (const end of ["pointerup", "pointercancel"])
        view.addEventListener(end, () => {
          held = false;
        });

      const proves = (s, trials, tpr = s.tpr, fpr = s.fpr) =>
        ldpkit.bound({
          tp: round(tpr * trials),
          fp: round(fpr * trials),
          trials,
          delta: s.delta,
          alpha: +(1 - s.confidence).toFixed(9),
        });
      /* Fewest reports per input with which these rates refute the claim. */
      function needed(s) {
        if (!(log(max(0, s.tpr - s.delta) / s.fpr) > s.epsilon + 1e-9)) return Infinity;
        let low = 1,
          high = 1;
        while (proves(s, high).epsilon <= s.epsilon) {
          low = high;
          high *= 2;
          if (high > 1e10) return Infinity;
        }
        while (high - low > max(1, low / 1000)) {
          const n = round((low + high) / 2);
          if (proves(s, n).epsilon > s.epsilon) high = n;
          else low = n;
        }
        return high;
      }
      return (s) => {
        const e = exp(s.epsilon),
          { tpr, fpr, epsilon, ceiling } = proves(s, s.trials),
          limit = log(max(0, s.tpr - s.delta) / s.fpr),
          fewest = needed(s);
        const share = { domain: [0, 1], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] };
        /* the claim allows fpr between the lines tpr = e fpr + delta and 1 - fpr = e (1 - tpr) + delta, and their mirror images */
        const corner = (1 - s.delta) / (1 + e),
          upper = [
            [0, s.delta],
            [corner, 1 - corner],
            [1 - s.delta, 1],
          ],
          lower = upper.map(([a, b]) => [1 - a, 1 - b]);
        plane = plot("plane", {
          label: `The point at false-positive rate ${digits(s.fpr)} and true-positive rate ${digits(s.tpr)}; its box ${digits(fpr[0])} to ${digits(fpr[1])} by ${digits(tpr[0])} to ${digits(tpr[1])}`,
          height: (w) => min(w, 420),
          x: { ...share, title: "false-positive rate" },
          y: { ...share, title: "true-positive rate" },
        });
        plane
          .area([...upper, [0, 1]], "bad")
          .area([...lower, [1, 0]], "bad")
          .line([[0, s.delta], ...upper.slice(1)], "claim")
          .line(lower, "claim")
          .line(
            [
              [0, 0],
              [1, 1],
            ],
            "faint",
          );
        plane
          .text(0.5, 0.5, "pure guessing", "", 8, 16)
          .text(0.02, 0.97, "breaks the claim", "bad", 0, 6);
        if (epsilon > 0)
          plane.line(
            [
              [0, s.delta],
              [min(1, (1 - s.delta) / exp(epsilon)), min(1, s.delta + exp(epsilon))],
            ],
            "a claim",
          );
        plane
          .box(fpr, tpr, "a pale")
          .dot(s.fpr, s.tpr, epsilon > s.epsilon ? "bad" : "a", 8)
          .end();

        const many = Array.from({ length: 41 }, (_, i) => round(10 * 10 ** (i / 8))),
          bounds = many.map((n) => [n, proves(s, n).epsilon]),
          top = max(s.epsilon * 1.6, Number.isFinite(limit) ? limit * 1.15 : 0, 1);
        const p = plot("reports", {
          label: `Bound by number of reports: ${[100, 10000, 1000000].map((n) => `${digits(max(0, proves(s, n).epsilon))} with ${grouped(n)}`).join(", ")}`,
          height: (w) => min(w, 420),
          x: {
            domain: [10, 1e6],
            log: true,
            ticks: [10, 100, 1000, 1e4, 1e5, 1e6],
            format: (v) => (v < 1000 ? `${v}` : v < 1e6 ? `${v / 1000}k` : "1M"),
            title: "reports per input",
          },
          y: { domain: [0, top], title: "ε" },
        });
        p.line(
          many.map((n) => [n, proves(s, n, 1, 0).epsilon]),
          "faint",
        ).text(
          many.find((n) => proves(s, n, 1, 0).epsilon > 0.85 * top) || 1e6,
          0.85 * top,
          "ceiling",
          "",
          8,
          4,
        );
        p.line(
          [
            [10, s.epsilon],
            [1e6, s.epsilon],
          ],
          "claim",
        )
          .text(60, s.epsilon, "claimed")
          .line(
            bounds.map(([n, b]) => [n, max(0, b)]),
            "a",
          );
        if (Number.isFinite(limit) && limit > 0)
          p.line(
            [
              [10, limit],
              [1e6, limit],
            ],
            "b claim",
          ).text(1e6, limit, "limit", "b");
        p.dot(s.trials, max(0, epsilon), epsilon > s.epsilon ? "bad" : "a", 7).end();

        const proven = epsilon > 0 ? `ε > ${least(epsilon)}` : "nothing",
          sure = `at ${+(100 * s.confidence).toFixed(4)} % confidence`;
        if (epsilon > s.epsilon)
          say(
            `Claim refuted: ${grouped(s.trials)} reports per input prove ${proven}, and ${s.epsilon} is claimed (${sure}). ${grouped(fewest)} would do.`,
            "bad",
          );
        else if (ceiling <= s.epsilon)
          say(
            `Too few reports: even perfect rates would prove no more than ${ceiling.toFixed(2)} with ${grouped(s.trials)} per input, and ${s.epsilon} is claimed.`,
          );
        else if (fewest === Infinity)
          say(
            `${grouped(s.trials)} reports per input prove ${proven} (${sure}). These rates show ${limit > 0 ? `ε = ${digits(limit)} at most` : "nothing at all"}, so no number of reports refutes the claim ${s.epsilon}.`,
          );
        else
          say(
            `${grouped(s.trials)} reports per input prove ${proven} (${sure}): no refutation yet. The claim of ${s.epsilon} is wrong, and about ${grouped(fewest)} per input would show it.`,
          );
      };
    },
  });
})();
