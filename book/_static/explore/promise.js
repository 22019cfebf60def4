/* Break the promise: real reports are drawn here, and bets are placed on an event that was fixed before. */
(() => {
  "use strict";
  const { ceil, exp, floor, imul, log, max, min } = Math,
    {
      laws,
      base: { digits, grouped, least },
      tools: { mixed, named, random, Wealth },
    } = ldpkit;

  /* ---- clients: reports as the protocols define them, from one seed ---- */
  const laplace = (scale, next) => {
    const u = next() - 0.5;
    return (u < 0 ? 1 : -1) * scale * log(1 - 2 * Math.abs(u));
  };
  const respond = (value, k, keep, next) => {
    if (next() < keep) return value;
    const other = floor(next() * (k - 1));
    return other + +(other >= value);
  };
  /* One report, as the values that it supports; `numbers` for a noisy vector. */
  const CLIENTS = {
    value: (m, v, next) => {
      const seen = new Uint8Array(m.k);
      seen[respond(v, m.k, m.p, next)] = 1;
      return seen;
    },
    bits: (m, v, next) =>
      Uint8Array.from({ length: m.k }, (_, u) => {
        if (m.theta !== undefined) return +(+(u === v) + laplace(2 / m.epsilon, next) > m.theta);
        if (m.drawn !== undefined && u === v) {
          const first = next() < m.q,
            second = next() < m.drawn;
          return +(first || second);
        }
        return +(next() < (u === v ? m.p : m.q));
      }),
    subset: (m, v, next) => {
      const seen = new Uint8Array(m.k);
      seen[v] = +(next() < m.p);
      for (let left = m.omega - seen[v], places = m.k - 1, u = 0; u < m.k; u++) {
        if (u === v) continue;
        if (next() * places < left) {
          seen[u] = 1;
          left--;
        }
        places--;
      }
      return seen;
    },
    hash: (m, v, next) => {
      const own = floor(next() * 2 ** 32),
        cell = (u) => floor((mixed(own ^ imul(u + 1, 0x9e3779b1)) / 2 ** 32) * m.g),
        sent = respond(cell(v), m.g, m.p, next);
      return Uint8Array.from({ length: m.k }, (_, u) => +(cell(u) === sent));
    },
    vector: (m, v, next) => {
      const numbers = Array.from({ length: m.k }, (_, u) => +(u === v) + laplace(m.scale, next));
      return Object.assign(
        Uint8Array.from(numbers, (x) => +(x >= 1)),
        { numbers },
      );
    },
  };
  const report = (m, v, next) => CLIENTS[m.kind](m, v, next);
  /* Whether a report shows the event: "supports the first value and not the second", or the guess names the first. */
  function shows(_m, seen, [one, two], attack, next) {
    if (attack === "tight")
      return seen.numbers
        ? seen.numbers[one] >= 1 && seen.numbers[two] <= 0
        : seen[one] && !seen[two];
    const score = seen.numbers ? seen.numbers.map((x) => min(1, max(0, x))) : [...seen],
      top = max(...score);
    return score[one] === top && next() * score.filter((s) => s === top).length < 1;
  }
  ldpkit.client = { report, shows, random };

  /* ---- the explorer ---- */
  const PAIRS = { near: () => [0, 1], far: (k) => [0, k - 1] };
  const UNARY = ["SUE", "OUE"],
    AHEAD = 50;

  ldpkit.explorer("promise", {
    controls: {
      protocol: { label: "Protocol", kind: "choice", value: "SUE", choices: named(laws.PROTOCOLS) },
      released: { label: "Use pure-ldp 1.1.2", kind: "flag", value: false, note: "of SUE and OUE" },
      epsilon: { label: "Promised ε", kind: "range", value: 1, min: 0.2, max: 5, step: 0.1 },
      k: { label: "Values k", kind: "range", value: 8, min: 2, max: 20, step: 1 },
      attack: {
        label: "Question asked",
        kind: "choice",
        value: "tight",
        choices: { tight: "likelihood-ratio event", guess: "the paper's guess" },
      },
      pair: {
        label: "Secrets",
        kind: "choice",
        value: "near",
        choices: { near: "0 against 1", far: "0 against the last" },
      },
      speed: {
        label: "Pairs a second",
        kind: "list",
        value: 100,
        values: [1, 3, 10, 30, 100, 300, 1000, 3000, 10000],
      },
      seed: { label: "Seed", kind: "range", value: 1, min: 1, max: 99, step: 1 },
    },
    buttons: { go: "▶ Stream", one: "One pair" },
    views: {
      proven: { caption: "What the reports have proven about ε (line), and the promise (dashed)." },
      wealth: {
        caption:
          "Wealth of somebody who bets against the promise, from 1. Betting against a true promise loses; at 100 the promise is refuted, whenever one stops.",
      },
      first: {
        caption:
          "Squares: the latest report of somebody whose secret is 0. Bars: how often each value was supported.",
      },
      second: { caption: "The same for the other secret. An honest client keeps the two similar." },
    },
    settle(state, _changes, inputs) {
      inputs.released.disabled = !UNARY.includes(state.protocol);
      return inputs.released.disabled ? { released: false } : {};
    },
    start({ plot, say, buttons, redraw, calm, state: now }) {
      let run = null,
        streaming = false,
        owed = 0,
        last = 0;
      function begin(s) {
        const m = s.released
          ? laws.mechanism("FaultyUE", s.k, s.epsilon, s.protocol)
          : laws.mechanism(s.protocol, s.k, s.epsilon);
        const given = {
          mechanism: m.name,
          k: s.k,
          epsilon: s.epsilon,
          ...(s.released ? { protocol: s.protocol } : {}),
        };
        const limit = ldpkit.rates({ ...given, attack: s.attack }).epsilon,
          step = 0.05,
          most = max(s.epsilon, limit) + 0.5;
        const grid = Array.from(
          { length: ceil(most / step) },
          (_, i) => +((i + 1) * step).toFixed(2),
        );
        const bets = new laws.Bets([...new Set([...grid, s.epsilon])].sort((a, b) => a - b));
        run = {
          s,
          m,
          pair: PAIRS[s.pair](s.k),
          limit,
          bets,
          wealth: new Wealth(bets, s.epsilon),
          next: random(s.seed),
          seen: [new Uint32Array(s.k), new Uint32Array(s.k)],
          latest: [null, null],
        };
        for (let i = 0; i < AHEAD; i++) pair(); // a first result, before anything is pressed
      }
      function pair() {
        const { m, pair: two, s, bets, next } = run;
        const events = two.map((v, side) => {
          const got = report(m, v, next);
          for (let u = 0; u < s.k; u++) run.seen[side][u] += got[u];
          run.latest[side] = got;
          return shows(m, got, two, s.attack, next) ? 1 : 0;
        });
        bets.add(...events);
        run.wealth.follow();
      }
      function stream(on) {
        streaming = on;
        owed = 0;
        buttons.go.textContent = on ? "❚❚ Pause" : "▶ Stream";
        if (on) {
          last = performance.now();
          requestAnimationFrame(frame);
        }
      }
      function frame(time) {
        if (!streaming) return;
        owed += (now.speed * min(250, max(0, time - last))) / 1000;
        last = time;
        if (!calm.matches || owed >= now.speed / 2) {
          // who wants no motion sees a new state twice a second
          const until = performance.now() + 12;
          if (owed >= 1) redraw();
          while (owed >= 1 && performance.now() < until) {
            pair();
            owed--;
          }
          owed = min(owed, now.speed / 2);
        }
        if (run.bets.pairs >= 1e6) stream(false);
        requestAnimationFrame(frame);
      }
      buttons.go.addEventListener("click", () => stream(!streaming));
      buttons.one.addEventListener("click", () => {
        stream(false);
        pair();
        redraw();
      });

      function histogram(view, side) {
        const { s, bets, seen, latest, pair: two } = run,
          n = max(1, bets.pairs),
          shares = [...seen[side]].map((c) => c / n),
          top = max(0.2, ...shares) * 1.05;
        const p = plot(view, {
          label: `Shares of reports that support each value, secret ${two[side]}: ${shares.map((x, u) => `${u}: ${digits(x, 2)}`).join(", ")}`,
          height: 170,
          left: 44,
          top: 34,
          bottom: 26,
          x: { domain: [-0.5, s.k - 0.5], ticks: Array.from({ length: s.k }, (_, u) => u) },
          y: { domain: [0, top] },
        });
        shares.forEach((share, u) => {
          p.box(
            [u - 0.4, u + 0.4],
            [0, share],
            `${side ? "b" : "a"} ${two.includes(u) ? "solid" : "pale"}`,
          );
          const x = p.X(u),
            size = min(14, (p.w / s.k) * 0.7);
          p.axes += `<rect x="${(x - size / 2).toFixed(1)}" y="${20 - size}" width="${size.toFixed(1)}" height="${size.toFixed(1)}" rx="2" fill="${latest[side]?.[u] ? `var(--ex-${side ? "b" : "a"})` : "none"}" stroke="var(--ex-faint)"/>`;
        });
        p.end();
      }
      return (s) => {
        if (!run || Object.keys(s).some((key) => key !== "speed" && s[key] !== run.s[key]))
          begin(s);
        const { bets, limit, wealth, pair: two } = run,
          { broken } = wealth,
          n = bets.pairs;
        histogram("first", 0);
        histogram("second", 1);
        wealth.draw(plot, "pairs of reports", limit);
        const client = s.released ? `pure-ldp 1.1.2's ${s.protocol}` : `An honest ${s.protocol}`;
        if (broken)
          say(
            `Promise broken: ${grouped(n)} pairs prove ε > ${least(bets.lower)}, and ${s.epsilon} was promised. (Refuted after ${grouped(broken)} pairs; a true promise is refuted once in 100 such runs at most.)`,
            "bad",
            streaming,
          );
        else if (n === AHEAD)
          say(
            `Somebody whose secret is ${two[0]} and somebody whose secret is ${two[1]} reported ${n} times through ${s.released ? client : s.protocol}. The promise: no answer is more than e^${s.epsilon} ≈ ${digits(exp(s.epsilon))} times likelier for one. So far ${bets.lower ? `ε > ${least(bets.lower)}` : "nothing"} is proven: press Stream.`,
          );
        else
          say(
            `After ${grouped(n)} pairs: ${bets.lower ? `ε > ${least(bets.lower)} is proven` : "nothing is proven yet"}, ${s.epsilon} is promised. ${client} ${limit > s.epsilon + 1e-9 ? "leaks more than that: wait" : `shows at most ${limit.toFixed(2)} in this question, however long one watches`}.`,
            "",
            streaming,
          );
      };
    },
  });
})();
