/* The exact laws of the book in the browser: no server, no network, no library. From the console of a page that loads it:

     ldpkit.rates({mechanism: "OUE", k: 100, epsilon: 1, attack: "tight"})   what `ldpkit rates` prints
     ldpkit.bound({tp: 430, fp: 120, trials: 1000})                          what counts prove
     ldpkit.refine({family: "ue", k: 100, epsilon: 4, weights: [0.5, 0.5]})  the chosen parameter and its objectives
     ldpkit.shuffle({clients: 1000, epsilon: 1})                             epsilon of the shuffled reports
     ldpkit.rad({mechanism: "GRR", m: 10, epsilon: 1})                       reconstruction advantage
     ldpkit.keyvalue({mechanism: "PCKV-UE", epsilon: 1})                     what the key-value auditors can see

   Each is written from the formulas of the papers; a test compares all of them with the package. Logarithms are natural. */
(() => {
  "use strict";
  const { abs, ceil, exp, expm1, floor, log, log1p, max, min, sqrt, PI } = Math;

  /* ---- what is accepted ---- */
  function real(name, value, low, high, open = false) {
    if (
      typeof value !== "number" ||
      !(open ? value > low && value < high : value >= low && value <= high)
    )
      throw new RangeError(
        `${name} must be a number ${open ? "between" : "in"} ${open ? `${low} and ${high}` : `[${low}, ${high}]`}, got ${value}`,
      );
    return value;
  }
  function whole(name, value, low, high = 2 ** 31 - 1) {
    if (!Number.isInteger(value) || value < low || value > high)
      throw new RangeError(`${name} must be a whole number in [${low}, ${high}], got ${value}`);
    return value;
  }
  function oneOf(name, value, choices) {
    if (!choices.includes(value))
      throw new RangeError(`${name} must be one of ${choices.join(", ")}, got ${value}`);
    return value;
  }
  function only(given, names) {
    for (const name of Object.keys(given)) oneOf("parameter", name, names);
  }
  const budget = (value) => real("epsilon", value, 1e-6, 30);
  const expit = (t) => (t > 0 ? 1 / (1 + exp(-t)) : exp(t) / (1 + exp(t)));
  const even = (x) => (x - floor(x) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x)); // halves to the even number, as NumPy rounds

  /* ---- binomial laws ---- */
  const FACTORIALS = [1];
  for (let i = 1; i < 16; i++) FACTORIALS.push(i * FACTORIALS[i - 1]);
  /* What Stirling's formula lacks of ln(n!), n >= 1. */
  function stirling(n) {
    if (n < 16) return log(FACTORIALS[n]) - (n + 0.5) * log(n) + n - 0.5 * log(2 * PI);
    const r = 1 / (n * n);
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / n;
  }
  /* ln P(c of n) where the odds of a success are c / (n - c), times e^shift; 0 < c < n. Formed from the shift, no digit is lost
     at a thousand million trials. */
  function logMass(c, n, shift) {
    if (c > n - c) return logMass(n - c, n, -shift);
    const far = c * shift - n * log1p((c / n) * expm1(shift));
    return (
      far + 0.5 * log(n / (2 * PI * c * (n - c))) + stirling(n) - stirling(c) - stirling(n - c)
    );
  }
  /* ln P(c of n) at a rate. */
  function logBinomial(c, n, rate) {
    if (c === 0) return n * log1p(-rate);
    if (c === n) return n * log(rate);
    return logMass(c, n, log(rate) - log1p(-rate) - log(c / (n - c)));
  }
  /* P(at least c) / P(c): each term of the tail by the one before; all are positive. */
  function tailSum(c, n, odds) {
    let sum = 1,
      term = 1;
    for (let i = c; i < n; i++) {
      term *= ((n - i) / (i + 1)) * odds;
      sum += term;
      if (term < 1e-17 * sum) break;
    }
    return sum;
  }
  /* Log-odds of the rate at which c or more of n happen with probability `tail`. The logarithm of that probability is concave
     in the log-odds, so that Newton's steps from the left end where they should. */
  function logOdds(c, n, tail) {
    const goal = log(tail);
    if (c === n) return goal / n - log(-expm1(goal / n));
    const start = log(c / (n - c));
    let shift = -sqrt(-2 * goal * (1 / c + 1 / (n - c)));
    for (let i = 0; i < 100; i++) {
      const odds = exp(start + shift),
        sum = tailSum(c, n, odds);
      const step = (logMass(c, n, shift) + log(sum) - goal) / (c / (1 + odds) / sum);
      shift -= step;
      if (abs(step) < 1e-15 * max(1, abs(shift)) || abs(step) * sqrt((c * (n - c)) / n) < 1e-13)
        break;
    }
    return start + shift;
  }
  /* Clopper and Pearson's bounds of a rate; each is wrong with probability at most `tail`. */
  function clopperPearson(count, trials, tail) {
    return [
      count === 0 ? 0 : expit(logOdds(count, trials, tail)),
      count === trials ? 1 : expit(-logOdds(trials - count, trials, tail)),
    ];
  }

  /* ---- mechanisms: how they are read, and their support probabilities ---- */
  /* The least of a function between two points, to `close`: Brent's search in the order of steps that SciPy's bounded search has,
     because the threshold of THE is what that search returns. */
  function brent(f, low, high, close = 1e-5) {
    const golden = 0.5 * (3 - sqrt(5)),
      least = sqrt(2.2e-16);
    let x = low + golden * (high - low),
      second = x,
      third = x,
      fx = f(x),
      fsecond = fx,
      fthird = fx,
      move = 0,
      before = 0;
    for (let i = 1; i < 500; i++) {
      const middle = 0.5 * (low + high),
        tol = least * abs(x) + close / 3;
      if (abs(x - middle) <= 2 * tol - 0.5 * (high - low)) break;
      let bisect = true;
      if (abs(before) > tol) {
        const r = (x - second) * (fx - fthird),
          s = (x - third) * (fx - fsecond);
        let top = (x - third) * s - (x - second) * r,
          below = 2 * (s - r);
        if (below > 0) top = -top;
        below = abs(below);
        const last = before;
        before = move;
        if (
          abs(top) < abs(0.5 * below * last) &&
          top > below * (low - x) &&
          top < below * (high - x)
        ) {
          bisect = false;
          move = top / below;
          if (x + move - low < 2 * tol || high - x - move < 2 * tol)
            move = middle >= x ? tol : -tol;
        }
      }
      if (bisect) {
        before = x >= middle ? low - x : high - x;
        move = golden * before;
      }
      const at = x + (move >= 0 ? 1 : -1) * max(abs(move), tol),
        fat = f(at);
      if (fat <= fx) {
        if (at >= x) low = x;
        else high = x;
        [third, fthird, second, fsecond, x, fx] = [second, fsecond, x, fx, at, fat];
      } else {
        if (at < x) low = at;
        else high = at;
        if (fat <= fsecond || second === x)
          [third, fthird, second, fsecond] = [second, fsecond, at, fat];
        else if (fat <= fthird || third === x || third === second) [third, fthird] = [at, fat];
      }
    }
    return x;
  }
  function threshold(epsilon) {
    const half = epsilon / 2;
    return brent(
      (t) => {
        const own = exp(-half * t);
        return (own * (2 - own)) / (own + exp(half * (t - 1)) - 2) ** 2;
      },
      0.5,
      1,
    );
  }
  const response = (k, epsilon) => {
    const small = exp(-epsilon),
      all = 1 + (k - 1) * small;
    return { p: 1 / all, q: small / all, absent: ((k - 1) * small) / all };
  };
  const inclusion = (k, epsilon, omega) => {
    const small = exp(-epsilon),
      all = omega + (k - omega) * small;
    return {
      p: omega / all,
      q: (omega * (omega - 1 + (k - omega) * small)) / (k - 1) / all,
      absent: ((k - omega) * small) / all,
    };
  };
  const exceeding = (epsilon, theta) => ({
    p: 1 - exp((epsilon * (theta - 1)) / 2) / 2,
    q: exp((-epsilon * theta) / 2) / 2,
    absent: exp((epsilon * (theta - 1)) / 2) / 2,
  });
  const hashing = (epsilon, g) => ({ kind: "hash", g, ...response(g, epsilon), q: 1 / g });
  const subset = (k, epsilon, omega) => ({
    kind: "subset",
    omega,
    ...inclusion(k, epsilon, omega),
  });
  const PROTOCOLS = {
    GRR: (k, epsilon) => ({ kind: "value", ...response(k, epsilon) }),
    SS: (k, epsilon) => subset(k, epsilon, max(1, even(k * expit(-epsilon)))),
    SUE: (_k, epsilon) => {
      const q = expit(-epsilon / 2);
      return { kind: "bits", p: expit(epsilon / 2), q, absent: q };
    },
    OUE: (_k, epsilon) => ({ kind: "bits", p: 0.5, q: expit(-epsilon), absent: 0.5 }),
    BLH: (_k, epsilon) => hashing(epsilon, 2),
    OLH: (_k, epsilon) =>
      hashing(real("epsilon of OLH", epsilon, 1e-6, 22), even(exp(epsilon)) + 1),
    SHE: (_k, epsilon) => ({ kind: "vector", scale: 2 / epsilon }),
    THE: (_k, epsilon) => {
      const theta = threshold(epsilon);
      return { kind: "bits", theta, ...exceeding(epsilon, theta) };
    },
  };
  /* pure-ldp 1.1.2 draws the own bit twice, and sends a one if either draw is one. */
  function faulty(protocol, k, epsilon) {
    const { p, q, absent } = PROTOCOLS[oneOf("protocol of FaultyUE", protocol, ["SUE", "OUE"])](
      k,
      epsilon,
    );
    return { kind: "bits", p: p + q - p * q, q, absent: absent * (1 - q), drawn: p };
  }
  function mechanism(name, k, epsilon, protocol) {
    oneOf("mechanism", name, [...Object.keys(PROTOCOLS), "FaultyUE"]);
    whole("k", k, 2);
    budget(epsilon);
    return {
      name,
      k,
      epsilon,
      ...(name === "FaultyUE"
        ? faulty(protocol === undefined ? "SUE" : protocol, k, epsilon)
        : PROTOCOLS[name](k, epsilon)),
    };
  }

  /* ---- attacks: the rates of the event under the first and under the second input ---- */
  const meanReciprocal = (n, q) => (q === 0 ? 1 : -expm1((n + 1) * log1p(-q)) / ((n + 1) * q)); // E 1 / (1 + Binomial(n, q))
  /* 1 - meanReciprocal, by a series in q where the difference would lose digits. */
  const meanFraction = (n, q) => {
    if ((n + 1) * q > 1) return 1 - meanReciprocal(n, q);
    let term = (n * q) / 2,
      total = term;
    for (let j = 2; j < 20; j++) total += term *= ((j - 1 - n) * q) / (j + 1);
    return total;
  };
  const supportSuccess = (p, q, k) =>
    p * meanReciprocal(k - 1, q) + ((1 - p) * exp((k - 1) * log1p(-q))) / k;
  let nodes = null;
  /* Nodes and weights of Gauss and Legendre on [-1, 1]. */
  function legendre(n = 48) {
    nodes =
      nodes ||
      Array.from({ length: n }, (_, i) => {
        let z = Math.cos((PI * (i + 0.75)) / (n + 0.5)),
          slope = 1;
        for (let step = 0; step < 20; step++) {
          let now = 1,
            last = 0;
          for (let j = 1; j <= n; j++)
            [now, last] = [((2 * j - 1) * z * now - (j - 1) * last) / j, now];
          slope = (n * (z * now - last)) / (z * z - 1);
          z -= now / slope;
        }
        return [z, 2 / ((1 - z * z) * slope * slope)];
      });
    return nodes;
  }
  /* Probability that one Laplace variable raised by 1 is the largest of k. */
  function laplaceSuccess(scale, k) {
    const c = exp(-1 / scale),
      low = log(c / 2),
      panels = max(8, ceil(1 / scale)),
      half = (log(0.5) - low) / panels / 2;
    let middle = 0;
    for (let i = 0; i < panels; i++) {
      for (const [z, weight] of legendre()) {
        const u = exp(low + half * (2 * i + 1 + z));
        middle += (half * weight * exp((k - 1) * log1p(-u))) / u;
      }
    }
    return meanReciprocal(k - 1, c / 2) / 2 + (c * middle) / 4 + (c * 2 ** -k) / k;
  }
  function success(m) {
    if (m.kind === "value") return m.p;
    if (m.kind === "subset") return m.p / m.omega;
    return m.kind === "vector" ? laplaceSuccess(m.scale, m.k) : supportSuccess(m.p, m.q, m.k);
  }
  /* Its opposite, from positive terms where the success may be near 1; `absent` is 1 - p. */
  function failure(m) {
    if (m.kind === "value") return m.absent;
    if (m.kind === "subset") return m.absent + m.p * (1 - 1 / m.omega);
    if (m.kind === "vector") return 1 - success(m);
    return m.p * meanFraction(m.k - 1, m.q) + m.absent * (1 - exp((m.k - 1) * log1p(-m.q)) / m.k);
  }
  const ATTACKS = {
    guess: (m) => [success(m), failure(m) / (m.k - 1)],
    tight: (m) => {
      if (m.kind === "value") return [m.p, m.q];
      if (m.kind === "vector") return [0.25, exp(-2 / m.scale) / 4];
      if (m.kind === "subset") {
        const seen = (m.p * (m.k - m.omega)) / (m.k - 1);
        return [seen, seen * exp(-m.epsilon)];
      }
      return [m.p * (1 - m.q), m.q * m.absent];
    },
  };
  /* Exact rates of an attack; `loss` is the log ratio of the likeliest event, `claim` what the mechanism says. */
  function rates(given) {
    only(given, ["mechanism", "k", "epsilon", "attack", "protocol"]);
    const m = mechanism(given.mechanism, given.k, given.epsilon, given.protocol);
    const [tpr, fpr] =
        ATTACKS[
          oneOf("attack", given.attack === undefined ? "guess" : given.attack, Object.keys(ATTACKS))
        ](m),
      best = ATTACKS.tight(m);
    return { tpr, fpr, epsilon: log(tpr / fpr), loss: log(best[0] / best[1]), claim: m.epsilon };
  }

  /* ---- bounds ---- */
  /* What counts of an event prove: `tpr` and `fpr` are two-sided intervals, `epsilon` is ln((low - delta) / high), `ceiling` what
     perfect counts would give. The convention "valid" puts alpha / 2 on each of the two bounds, "published" (the LDP-Auditor
     code) alpha / 4. */
  function bound({ tp, fp, trials, alpha = 0.01, delta = 0, convention = "valid", ...rest }) {
    only(rest, ["tp", "fp", "trials", "alpha", "delta", "convention"]);
    whole("trials", trials, 1, 1e12);
    whole("tp", tp, 0, trials);
    whole("fp", fp, 0, trials);
    real("delta", delta, 0, 1 - 1e-16);
    const tail =
      real("alpha", alpha, 1e-100, 1 - 1e-16) /
      { valid: 2, published: 4 }[oneOf("convention", convention, ["valid", "published"])];
    const tpr = clopperPearson(tp, trials, tail),
      fpr = clopperPearson(fp, trials, tail);
    const excess = (low, high) => (low > delta ? log(low - delta) - log(high) : -Infinity);
    return {
      tpr,
      fpr,
      epsilon: excess(tpr[0], fpr[1]),
      ceiling: excess(clopperPearson(trials, trials, tail)[0], clopperPearson(0, trials, tail)[1]),
      tail,
    };
  }

  /* ---- refinement ---- */
  const range = (low, high) => Array.from({ length: max(0, high - low + 1) }, (_, i) => low + i);
  const spaced = (low, high, n) =>
    Array.from({ length: n }, (_, i) => (i === n - 1 ? high : low + (i * (high - low)) / (n - 1)));
  const FAMILIES = {
    ss: { parameter: "omega", grid: (k) => range(1, k - 2), rates: inclusion },
    ue: {
      parameter: "p",
      grid: (_k, epsilon) => spaced(0, min(epsilon + 12, 36), 2001).map((t) => 1 / (1 + exp(-t))),
      rates: (_k, epsilon, p) => ({ p, q: p / (p + exp(epsilon) * (1 - p)) }),
    },
    lh: {
      parameter: "g",
      grid: (k, epsilon) => range(2, max(k - 1, even(exp(epsilon)) + 1)),
      rates: (_k, epsilon, g) => ({ p: response(g, epsilon).p, q: 1 / g }),
    },
    he: {
      parameter: "theta",
      grid: () => spaced(0.5, 1, 100),
      rates: (_k, epsilon, theta) => exceeding(epsilon, theta),
    },
  };
  const variance = (p, q) => (q * (1 - q)) / (p - q) ** 2;
  /* Attacker's success, variance of an estimated frequency for one user, and gain of fake users, over a family's grid. */
  function front(
    family,
    k,
    epsilon,
    { share = 0.05, targets = min(10, k), frequency = 0.01 } = {},
  ) {
    const kind = FAMILIES[oneOf("family", family, Object.keys(FAMILIES))];
    whole("k", k, family === "ss" ? 3 : 2, 2 ** 17);
    budget(epsilon);
    if (family === "lh") real("epsilon of family lh", epsilon, 1e-6, 11);
    return kind.grid(k, epsilon).map((parameter) => {
      const { p, q } = kind.rates(k, epsilon, parameter),
        supported = family === "ss" ? min(parameter, targets) : targets;
      return {
        parameter,
        asr: family === "ss" ? p / parameter : supportSuccess(p, q, k),
        mse: variance(p, q),
        epg: share * ((supported - targets * q) / (p - q) - frequency),
      };
    });
  }
  const scored = (point, weights) =>
    weights[0] * point.asr + weights[1] * point.mse + (weights[2] ? weights[2] * point.epg : 0);
  /* The point of a family with the least weighted sum of success, variance and gain. */
  function refine({ family, k, epsilon, weights = [0.5, 0.5, 0], ...rest }) {
    only(rest, ["family", "k", "epsilon", "weights"]);
    weights.forEach((w, i) => real(`weights[${i}]`, w, 0, Number.MAX_VALUE));
    const most = max(...weights),
      sum = weights.reduce((a, w) => a + w / most, 0);
    if (!(most > 0)) throw new RangeError(`weights must not all be zero, got ${weights}`);
    const shares = weights.map((w) => w / most / sum),
      points = front(family, k, epsilon);
    const best = points.reduce((found, point) =>
      scored(point, shares) < scored(found, shares) ? point : found,
    );
    return { [FAMILIES[family].parameter]: best.parameter, ...best };
  }
  /* The same objectives of a protocol with a rule of its own. */
  function objectives(name, k, epsilon) {
    const m = mechanism(name, k, epsilon);
    return { asr: success(m), mse: m.kind === "vector" ? 2 * m.scale ** 2 : variance(m.p, m.q) };
  }

  /* ---- shuffled LDP-SGD ---- */
  /* Smallest x in [0, high] with f(x) <= goal, for a falling f: regula falsi with halving (Illinois), ended by bisection's width. */
  function solve(f, goal, high) {
    let a = 0,
      b = high,
      fa = f(a) - goal,
      fb = f(b) - goal,
      side = 0;
    if (fa <= 0) return 0;
    for (let i = 0; i < 200 && b - a > 1e-13; i++) {
      const c = i % 3 === 2 ? (a + b) / 2 : b - (fb * (b - a)) / (fb - fa),
        fc = f(c) - goal;
      if (fc > 0) {
        [a, fa] = [c, fc];
        if (side === 1) fb /= 2;
        side = 1;
      } else {
        [b, fb] = [c, fc];
        if (side === -1) fa /= 2;
        side = -1;
      }
      if (fc === 0) return c;
    }
    return b;
  }
  /* Counts of Binomial(n, rate) that matter, and their probabilities. */
  function window(n, rate, width = 9) {
    const spread = width * sqrt(n * rate * (1 - rate)) + 2 * width,
      low = max(0, floor(n * rate - spread));
    return range(low, min(n, ceil(n * rate + spread))).map((c) => [
      c,
      exp(logBinomial(c, n, rate)),
    ]);
  }
  /* Exact delta of n clients with one gradient against one of them negated. */
  function pairDelta(clients, p) {
    const others = new Map(/** @type {[number, number][]} */ (window(clients - 1, p))),
      counts = [...others.keys()];
    const mass = range(counts[0], counts[counts.length - 1] + 1).map((c) => {
      const up = others.get(c - 1) || 0,
        stay = others.get(c) || 0;
      return [p * up + (1 - p) * stay, (1 - p) * up + p * stay];
    });
    return (shuffled) => {
      const grown = exp(shuffled);
      let one = 0,
        two = 0;
      for (const [a, b] of mass) {
        one += max(a - grown * b, 0);
        two += max(b - grown * a, 0);
      }
      return max(one, two);
    };
  }
  /* Upper bound of delta for all neighbouring batches: each other client's report is pure noise with probability 2 (1 - p). */
  function blanketDelta(clients, p) {
    const noisy = window(clients - 1, 2 * (1 - p));
    return (shuffled) => {
      const grown = exp(shuffled),
        gain = p - grown * (1 - p),
        loss = grown * p - (1 - p);
      if (gain <= 0) return 0;
      let total = 0;
      for (const [c, mass] of noisy) {
        const least = floor(((c + 1) * loss) / (gain + loss)) + 1; // counts from here on are likelier with the gradient
        const at = least - 1 > c ? 0 : exp(logBinomial(least - 1, c, 0.5)),
          beyond = least > c ? 0 : at * (tailSum(least - 1, c, 1) - 1);
        total += mass * (gain * (at + beyond) - loss * beyond);
      }
      return total;
    };
  }
  /* Epsilon of one report among shuffled ones: of the two batches (`tight`), for all batches by the blanket (`upper`) and by the
     closed form (`closed`; null where it is not proved). */
  function shuffle({ clients, epsilon, delta = 1e-6, ...rest }) {
    only(rest, ["clients", "epsilon", "delta"]);
    whole("clients", clients, 1, 1e6);
    budget(epsilon);
    real("delta", delta, 1e-12, 0.5);
    const p = expit(epsilon),
      e = exp(epsilon),
      least = ceil(8 * log(2 / delta) * (e + 1));
    const closed = log1p(
      (e - 1) * (4 * sqrt((2 * log(4 / delta)) / ((e + 1) * clients)) + 4 / clients),
    );
    return {
      tight: solve(pairDelta(clients, p), delta, epsilon),
      upper: solve(blanketDelta(clients, p), delta, epsilon),
      closed: clients < least ? null : closed,
      least,
    };
  }

  /* ---- reconstruction advantage ---- */
  /* Largest advantage of GRR, OUE, or SS with its size rounded down; `prior` (GRR and OUE) is uniform by default. `limit` is
     what any mechanism with this epsilon could allow. */
  function rad({ mechanism: name, m, epsilon, prior, ...rest }) {
    only(rest, ["mechanism", "m", "epsilon", "prior"]);
    oneOf("mechanism", name, ["GRR", "SS", "OUE"]);
    whole("m", m, 2, 1e6);
    budget(epsilon);
    const { p, q } =
      name === "SS"
        ? subset(m, epsilon, max(1, floor(m * expit(-epsilon))))
        : PROTOCOLS[name](m, epsilon);
    const total = expm1(epsilon) / (exp(epsilon) + 1); // largest total variation
    if (prior === undefined) {
      const advantage = {
        GRR: () => ((p - q) * (m - 1)) / m,
        OUE: () => supportSuccess(p, q, m) - 1 / m,
        SS: () => p / max(1, floor(m * expit(-epsilon))) - 1 / m,
      }[name]();
      return {
        rad: advantage,
        success_rate: advantage + 1 / m,
        limit: (-expm1(-epsilon) * (m - 1)) / (m * (1 + (m - 1) * exp(-epsilon))),
        total,
      };
    }
    if (name === "SS") throw new RangeError("prior must be left out for SS");
    const sorted = prior.map((w, i) => real(`prior[${i}]`, w, 0, 1)).sort((a, b) => a - b),
      sum = sorted.reduce((a, w) => a + w, 0);
    if (sorted.length !== m || abs(sum - 1) > 1e-9)
      throw new RangeError(
        `prior must hold ${m} probabilities that add to 1, got ${prior.length} that add to ${sum}`,
      );
    let before = 0,
      same = 0,
      advantage = 0;
    sorted.forEach((w, i) => {
      same += w * w;
      const weight = (1 - q) ** (m - 1 - i) * w;
      advantage += weight * (1 - w - q * before);
      before += w;
    });
    advantage = name === "GRR" ? (p - q) * (1 - same) : ((1 - 2 * q) / (2 * (1 - q))) * advantage;
    return { rad: advantage, success_rate: null, limit: null, total };
  }

  /* ---- key-value mechanisms ---- */
  /* Law of PCKV's record at the seen keys of a user who holds one pair (or none), padded to one; the dummy key comes last. */
  function pckv(name, k, spent, pair, seen) {
    const d = k + 1,
      e = exp(spent),
      gain = e - 1,
      unary = name === "PCKV-UE",
      key = pair ? pair[0] : k,
      sign = pair ? pair[1] : 0;
    const a = unary ? 0.5 : (gain + 2) / (gain + 2 * d),
      b = unary ? 2 / (e + 3) : 2 / (gain + 2 * d),
      flip = unary ? 1 / (e + 1) : 1 / (gain + 2);
    const own = [-1, 1].map((s) => a / 2 + (s * a * (1 - 2 * flip) * sign) / 2);
    if (!unary) return range(0, d - 1).flatMap((u) => (u === key ? own : [b / 2, b / 2]));
    return seen.reduce(
      (law, u) =>
        law.flatMap((mass) =>
          (u === key ? [own[0], 1 - a, own[1]] : [b / 2, 1 - b, b / 2]).map((s) => mass * s),
        ),
      [1],
    );
  }
  /* Without noise, the largest log ratio over all records (`hkv`) or over two positions of them (`vkv`, PCKV-UE), between users
     who hold (0, +1) and (1, -1), each with probability `ownership`. The mechanism spends `share` of epsilon. */
  function keyvalue({
    mechanism: name,
    epsilon,
    auditor = "hkv",
    k = 4,
    share = 0.5,
    ownership = 0.5,
    ...rest
  }) {
    only(rest, ["mechanism", "epsilon", "auditor", "k", "share", "ownership"]);
    oneOf("mechanism", name, ["PCKV-UE", "PCKV-GRR"]);
    oneOf("auditor", auditor, name === "PCKV-UE" ? ["hkv", "vkv"] : ["hkv"]);
    budget(epsilon);
    whole("k", k, auditor === "vkv" ? 3 : 2, name === "PCKV-UE" && auditor === "hkv" ? 9 : 1000);
    real("share", share, 0, 1);
    real("ownership", ownership, 0, 1);
    const seen = auditor === "vkv" ? [0, 2] : range(0, k),
      none = pckv(name, k, share * epsilon, null, seen);
    const [one, two] = [
      [0, 1],
      [1, -1],
    ].map((pair) =>
      pckv(name, k, share * epsilon, pair, seen).map(
        (mass, i) => ownership * mass + (1 - ownership) * none[i],
      ),
    );
    return {
      limit: max(...one.map((mass, i) => abs(log(mass / two[i])))),
      claim: epsilon,
      records: one.length,
    };
  }

  /* ---- bets: evidence that may be watched ---- */
  const STAKES = Array.from({ length: 16 }, (_, i) => 0.01 * 99.9 ** (i / 15)); // 0.01 to 0.999 in equal ratios
  /* Wealth of an equal mixture of linear bets against each claim of a list. What a wealth is depends on the counts of the four
     symbols only (neither report shows the event, only the second, only the first, both), so that it may be looked at rarely. */
  class Bets {
    constructor(claims, alpha = 0.01) {
      this.goal = -log(real("alpha", alpha, 0, 1, true));
      this.claims = claims;
      this.counts = [0, 0, 0, 0];
      this.peaks = claims.map(() => 0);
      this.gains = claims.map((claim) =>
        STAKES.map((stake) => {
          const e = exp(claim);
          return [0, log1p(-stake), log1p(stake / e), log1p((stake * (1 - e)) / e)];
        }),
      );
    }
    add(first, second) {
      this.counts[2 * first + second]++;
    }
    get pairs() {
      return this.counts.reduce((a, c) => a + c);
    }
    log(i) {
      const each = this.gains[i].map((gain) =>
          gain.reduce((sum, g, symbol) => sum + g * this.counts[symbol], 0),
        ),
        top = max(...each);
      return top + log(each.reduce((sum, one) => sum + exp(one - top), 0) / each.length);
    }
    look() {
      this.claims.forEach((_, i) => {
        this.peaks[i] = max(this.peaks[i], this.log(i));
      });
    }
    /* The largest claim up to which every one was refuted at some look: at most the truth, at all times together, with probability
       1 - alpha. */
    get lower() {
      const kept = this.peaks.findIndex((peak) => peak < this.goal);
      return kept === 0 ? 0 : this.claims[kept < 0 ? this.claims.length - 1 : kept - 1];
    }
  }

  globalThis.ldpkit = Object.assign(globalThis.ldpkit || {}, {
    rates,
    bound,
    refine,
    shuffle,
    rad,
    keyvalue,
    laws: {
      mechanism,
      clopperPearson,
      logBinomial,
      front,
      objectives,
      FAMILIES,
      PROTOCOLS: Object.keys(PROTOCOLS),
      STAKES,
      Bets,
    },
  });
})();
