/* Break your own promise: the reader's client is called in a worker, and bets are placed on what its past reports gave away. */
(() => {
  "use strict";
  const { ceil, exp, floor, max, min } = Math,
    {
      laws,
      base: { digits, grouped, least, make },
      tools: { mixed, percent, random, Wealth },
    } = ldpkit;
  const SECONDS = 3,
    CHARACTERS = 10000,
    REPORTS = 200000; // for an answer; of a report; in a run

  /* ---- clients to start from ---- */
  const keep = "  const keep = Math.exp(epsilon) / (Math.exp(epsilon) + k - 1);\n";
  const other =
    "  const other = Math.floor(random() * (k - 1));\n  return other < value ? other : other + 1;";
  const client = (...lines) => `function report(value, random) {\n${lines.join("")}\n}\n`;
  const STARTS = {
    grr: [
      "Randomised response, correct",
      client(keep, "  if (random() < keep) return value;\n", other),
    ],
    lie: [
      "Its lie may be the truth",
      client(keep, "  if (random() < keep) return value;\n", "  return Math.floor(random() * k);"),
    ],
    forgets: [
      "It forgets to lie for one value",
      client(
        "  if (value === k - 1) return value;\n",
        keep,
        "  if (random() < keep) return value;\n",
        other,
      ),
    ],
    type: [
      "Its lies have another type",
      client(
        keep,
        "  if (random() < keep) return value;\n",
        other.replace(/return (.*);/, "return String($1);"),
      ),
    ],
    number: [
      "It numbers its reports",
      `let sent = 0;\n\n${client(
        keep,
        "  sent += 1;\n  const id = 10 * sent + value;\n",
        "  if (random() < keep) return { id, answer: value };\n",
        other.replace(/return (.*);/, "return { id, answer: $1 };"),
      )}`,
    ],
    noise: [
      "It adds too little noise",
      client(
        "  const u = random() - 0.5, scale = 1 / epsilon; // right: (k - 1) / epsilon\n",
        "  return value - scale * Math.sign(u) * Math.log(1 - 2 * Math.abs(u));",
      ),
    ],
  };

  /* ---- the worker: these functions are sent there as text ---- */
  function work(CHARACTERS) {
    const written = ["Object", "Array", "String", "Number", "Boolean", "Null"];
    function plain(key, x) {
      const kind = Object.prototype.toString.call(x).slice(8, -1);
      if (written.includes(kind) && (kind !== "Number" || Number.isFinite(+x))) return x;
      const what = kind === "Undefined" ? "nothing" : kind === "Number" ? x : `a ${kind}`;
      throw `it gave ${what}${key && ` as “${key}”`}, and a report is a finite number, a text, true, false, null, or a list or an object of them`;
    }
    function text(report, value, next) {
      let found;
      try {
        found = JSON.stringify(report(value, next), plain);
      } catch (error) {
        throw new Error(`report(${value}) failed: ${error}`);
      }
      if (found.length > CHARACTERS)
        throw new Error(
          `report(${value}) has ${found.length} characters, and ${CHARACTERS} are the most`,
        );
      return found;
    }
    function begin({ code, k, epsilon, seed }) {
      let report;
      try {
        report = new Function(
          "k",
          "epsilon",
          `"use strict";${code}\n;return typeof report === "function" ? report : null;`,
        )(k, epsilon);
      } catch (error) {
        throw new Error(`The code cannot be used: ${error}`);
      }
      if (!report) throw new Error("The code holds no function of the name report");
      const next = random(seed),
        order = random(seed + 1e6);
      // who is asked first is drawn: a counter in the code says nothing about a secret by itself
      return () => {
        const left = Array.from({ length: k }, (_, v) => v),
          round = [];
        while (left.length) {
          const [v] = left.splice(Math.floor(order() * left.length), 1);
          round[v] = text(report, v, next);
        }
        return round;
      };
    }
    self.onmessage = (/** @type {MessageEvent} */ { data, ports: [port] }) => {
      const tell = (make) => {
        try {
          port.postMessage(make());
        } catch (error) {
          port.postMessage({ wrong: error.message });
        }
      };
      let round;
      tell(() => {
        round = begin(data);
        return { rounds: [] };
      });
      port.onmessage = ({ data: most }) =>
        tell(() => {
          const rounds = [],
            until = performance.now() + 50;
          do rounds.push(round());
          while (rounds.length < most && performance.now() < until);
          return { rounds };
        });
    };
  }
  /* A worker inside a frame that has no origin and no network: the code reaches neither the page nor what its host knows. */
  const FRAME =
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:">
    <script>onmessage = ({ data: [program, given], ports }) => {
      const worker = new Worker(URL.createObjectURL(new Blob([program])));
      worker.postMessage(given, ports);
    };</` + "script>";
  function started(host, given, heard) {
    const frame = make("iframe", {
        sandbox: "allow-scripts",
        srcdoc: FRAME,
        hidden: "",
        title: "Where your client runs",
      }),
      { port1: port, port2 } = new MessageChannel();
    let timer = 0;
    const end = () => {
      clearTimeout(timer);
      port.onmessage = null;
      port.close();
      frame.remove();
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(
        () =>
          heard({
            wrong: `The client did not answer for ${SECONDS} seconds (an endless loop?): it was stopped`,
          }),
        1000 * SECONDS,
      );
    };
    port.onmessage = ({ data }) => {
      clearTimeout(timer);
      try {
        heard(data);
      } catch (error) {
        heard({ wrong: `What the client sent cannot be read: ${error}` });
      }
    };
    frame.onload = () => {
      wait();
      frame.contentWindow.postMessage(
        [`"use strict"; ${mixed} ${random} (${work})(${CHARACTERS});`, given],
        "*",
        [port2],
      );
    };
    wait();
    host.append(frame);
    return {
      end,
      ask: (rounds) => {
        wait();
        port.postMessage(rounds);
      },
    };
  }

  /* ---- what is learned from past reports ---- */
  /* What is looked at in a report: named texts, of the whole and of its parts. */
  function features(text) {
    const found = new Map();
    (function look(x, name, depth) {
      const whole = JSON.stringify(x),
        inside = x !== null && typeof x === "object",
        list = Array.isArray(x);
      found
        .set(name, whole)
        .set(`the type of ${name}`, list ? "list" : x === null ? "null" : typeof x);
      if (typeof x === "number" && whole.length > 1)
        found
          .set(`${name}, to one digit,`, String(+x.toPrecision(1)))
          .set(`the last digit of ${name}`, whole.slice(-1));
      if (list || typeof x === "string") found.set(`the length of ${name}`, String(x.length));
      if (inside && !list) found.set(`the fields of ${name}`, Object.keys(x).join(" "));
      if (inside && depth < 3)
        for (const [key, part] of Object.entries(x).slice(0, 20))
          look(part, `${depth ? name : ""}${list ? `[${key}]` : `.${key}`}`, depth + 1);
    })(JSON.parse(text), "the report", 0);
    return found;
  }
  /* Chooses, from past rounds alone, an event and two secrets to bet on: "the first shows it, the second does not". */
  class Learner {
    constructor(k, epsilon) {
      this.k = k;
      this.epsilon = epsilon;
      this.rounds = 0;
      this.due = 8;
      this.event = null;
      this.tables = new Map();
    }
    shows(found) {
      return this.event.texts.has(found.get(this.event.name));
    }
    /* One more round, a report of every secret: what it means for the bet that was placed, and then what can be learned from it. */
    add(texts) {
      const found = texts.map(features),
        { k, event, tables } = this,
        bet = event ? event.pair.map((v) => +this.shows(found[v])) : [0, 0];
      const half = this.rounds++ % 2;
      found.forEach((parts, v) =>
        parts.forEach((text, name) => {
          if (!tables.has(name) && tables.size < 100) tables.set(name, new Map());
          const table = tables.get(name);
          if (table && !table.has(text) && table.size < 2000)
            table.set(text, new Uint32Array(2 * k));
          if (table?.has(text)) table.get(text)[half * k + v]++;
        }),
      );
      if (this.rounds >= this.due) {
        this.learn();
        this.due = ceil(1.5 * this.rounds);
      }
      return bet;
    }
    /* The event that would have won most: texts are chosen in one half of the past, and counted in the other. */
    learn() {
      const { k, epsilon, rounds } = this,
        past = new laws.Bets([epsilon]),
        e = exp(epsilon),
        secrets = Array.from({ length: k }, (_, v) => v);
      let most = 0.5;
      this.event = null;
      for (const [name, table] of this.tables) {
        const counts = [...table.values()];
        for (const a of secrets)
          for (const b of secrets)
            for (const bar of a === b ? [] : [1, exp(epsilon / 2), e]) {
              let first = 0,
                second = 0;
              for (const c of counts)
                for (const h of [0, k])
                  if (c[h + a] + 0.5 > bar * (c[h + b] + 0.5)) {
                    first += c[k - h + a];
                    second += c[k - h + b];
                  }
              const p = first / rounds,
                q = second / rounds;
              past.counts = [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q].map(
                (share) => share * rounds,
              );
              const won = p > e * q ? past.log(0) : 0;
              if (won > most) {
                most = won;
                this.event = { name, pair: [a, b], bar, table };
              }
            }
      }
      if (!this.event) return;
      const {
          pair: [a, b],
          bar,
          table,
        } = this.event,
        all = (c, v) => c[v] + c[k + v];
      const texts = [...table]
        .filter(([, c]) => all(c, a) + 0.5 > bar * (all(c, b) + 0.5))
        .sort((one, two) => all(two[1], a) - all(one[1], a))
        .map(([text]) => text);
      const shares = secrets.map(
        (v) => texts.reduce((sum, text) => sum + all(table.get(text), v), 0) / rounds,
      );
      Object.assign(this.event, { texts: new Set(texts), shares });
    }
    get words() {
      const { name, texts } = this.event,
        [...few] = texts,
        more = few.length - 4,
        short = few.slice(0, 4).map((text) => (text.length > 30 ? `${text.slice(0, 29)}…` : text));
      return `${name} is ${short.join(" or ")}${more > 0 ? ` or ${grouped(more)} more` : ""}`;
    }
  }
  ldpkit.Learner = Learner;

  /* ---- the explorer ---- */
  ldpkit.explorer("own", {
    controls: {
      from: {
        label: "Start from",
        kind: "choice",
        value: "grr",
        choices: Object.fromEntries(Object.entries(STARTS).map(([key, [words]]) => [key, words])),
      },
      epsilon: { label: "Promised ε", kind: "range", value: 1, min: 0.2, max: 5, step: 0.1 },
      k: { label: "Values k", kind: "range", value: 4, min: 2, max: 10, step: 1 },
      seed: { label: "Seed", kind: "range", value: 1, min: 1, max: 99, step: 1 },
    },
    buttons: { go: "▶ Run" },
    views: {
      proven: { caption: "What the reports have proven about ε (line), and the promise (dashed)." },
      wealth: {
        caption:
          "Wealth of somebody who bets against the promise, from 1. At 100 the promise is refuted, whenever one stops.",
      },
      seen: {
        caption:
          "In every round one report of each secret is drawn; what is bet on was chosen from the rounds before.",
        wide: true,
      },
    },
    start({ host, plot, table, say, warn, buttons, redraw, calm, state: now }) {
      const drafts = {},
        code = make("textarea", {
          id: "own-code",
          rows: 8,
          spellcheck: "false",
          autocapitalize: "off",
          autocomplete: "off",
          "aria-describedby": "own-code-note",
        });
      let from = "",
        run = null,
        worker = null,
        drawn = 0;
      host
        .querySelector(".ex-buttons")
        .before(
          make(
            "div",
            { class: "ex-control ex-code" },
            make("label", { for: "own-code" }, "Your client in JavaScript"),
            code,
            make(
              "small",
              { id: "own-code-note" },
              "JavaScript. value: the secret, 0 to k − 1; random(): a number between 0 and 1; k and epsilon are as above. Ctrl + Enter runs it, in a worker without network.",
            ),
          ),
        );
      function halt() {
        if (worker) worker.end();
        worker = null;
        buttons.go.textContent = "▶ Run";
        redraw();
      }
      function heard({ wrong, rounds }) {
        if (wrong) {
          halt();
          warn(`${wrong}.`);
          return;
        }
        const { learner, wealth, bets } = run;
        for (const round of rounds) {
          bets.add(...learner.add(round));
          wealth.follow();
          run.latest = round;
        }
        if (bets.pairs * now.k >= REPORTS) {
          halt();
          return;
        }
        const time = performance.now();
        if (!calm.matches || time - drawn > 500) {
          drawn = time;
          redraw();
        } // who wants no motion sees a new state twice a second
        const mine = worker,
          most = max(1, min(ceil(bets.pairs / 50), floor(4000 / now.k))); // slowly at first
        requestAnimationFrame(() => {
          if (worker === mine) mine.ask(most);
        });
      }
      /* The client that is chosen stands in the box. */
      function take() {
        if (now.from === from) return;
        from = now.from;
        code.value = Object.hasOwn(drafts, from) ? drafts[from] : STARTS[from][1];
      }
      function go() {
        if (worker) {
          halt();
          return;
        }
        take();
        const { epsilon, k, seed } = now,
          claims = Array.from({ length: 160 }, (_, i) => +((i + 1) / 20).toFixed(2)),
          bets = new laws.Bets(claims);
        run = {
          s: { ...now },
          bets,
          wealth: new Wealth(bets, epsilon),
          learner: new Learner(k, epsilon),
          latest: null,
        };
        warn();
        buttons.go.textContent = "■ Stop";
        worker = started(host, { code: code.value, k, epsilon, seed }, heard);
        redraw();
      }
      function edited() {
        run = null;
        drafts[from] = code.value;
        warn();
        halt();
      }
      code.addEventListener("input", edited);
      code.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          if (!worker) go();
        }
      });
      buttons.go.addEventListener("click", go);
      buttons.again.addEventListener("click", () => {
        code.value = STARTS[from][1];
        edited();
        for (const key of Object.keys(drafts)) delete drafts[key];
      });

      return (s) => {
        take();
        if (run && Object.keys(s).some((key) => s[key] !== run.s[key])) {
          run = null;
          halt();
        }
        const { bets, wealth, learner, latest } = run || {
            bets: { pairs: 0 },
            wealth: new Wealth(new laws.Bets([s.epsilon]), s.epsilon),
            learner: {},
          },
          n = bets.pairs,
          { event } = learner;
        wealth.draw(plot, "rounds");
        const cut = (text) => (text.length > 400 ? `${text.slice(0, 399)}…` : text);
        table(
          "seen",
          ["Secret", "Latest report", ...(event ? [`How often ${learner.words}`] : [])],
          Array.from({ length: s.k }, (_, v) => [
            `${v}`,
            latest ? cut(latest[v]) : "–",
            ...(event
              ? [`${percent(event.shares[v])}${event.pair.includes(v) ? " ◂ bet" : ""}`]
              : []),
          ]),
        );
        const reports = `${grouped(n)} rounds (${grouped(n * s.k)} reports)`;
        if (!n)
          say(
            `The promise: no report is more than e^${s.epsilon} ≈ ${digits(exp(s.epsilon))} times likelier with one secret than with another. Write a client, or take one that is there, and press Run: bets on what its reports give away try to break the promise.`,
          );
        else if (wealth.broken)
          say(
            `Promise broken: ${reports} prove ε > ${least(bets.lower)}, and ${s.epsilon} was promised. ${event ? `It shows in this: ${learner.words}, with secret ${event.pair[0]} rather than ${event.pair[1]}. ` : ""}(Refuted after ${grouped(wealth.broken)} rounds; a true promise is refuted once in 100 such runs at most.)`,
            "bad",
            !!worker,
          );
        else
          say(
            `${n * s.k >= REPORTS ? "No violation found in" : "After"} ${reports}: ${bets.lower ? `ε > ${least(bets.lower)} is proven` : "nothing is proven"}, ${s.epsilon} is promised. ${event ? `The bets are on this: ${learner.words}, with secret ${event.pair[0]} rather than ${event.pair[1]}.` : "Nothing is known that would be worth a bet: this first look bets on single values, not on fields that tell only together."}`,
            "",
            !!worker,
          );
      };
    },
  });
})();
