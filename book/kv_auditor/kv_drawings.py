"""Draw the sketches of KV-Auditor with the values of real clients: bounds on an axis, and records step by step."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpbook import plot_style, plots
from ldpkit.auditors.kv import collapse
from ldpkit.mechanisms import CPPUE, PCKVGRR, PCKVUE, KeyValues
from ldpkit.rng import generator


def draw_axis(cases, because=()):
    """Draw the audited bound, the true and the claimed epsilon of some clients on one axis; `cases` has a row for each.

    `because` has the reason of each bound, in the order of the rows.
    """
    figure, axis = plt.subplots(figsize=(7.2, 2.9), layout="constrained")
    rows, marks = [], (("bound", ">", "audited lower bound"), ("truth", "o", "true ε"), ("claim", "|", "claimed ε"))
    for at, case in enumerate(cases.itertuples()):
        wrong = case.bound > case.claim
        axis.plot([case.bound, case.claim], [-at, -at], color=plots.COLOURS[1 if wrong else 0], lw=5, alpha=0.35)
        rows += [
            ("", label, "claim" if name == "claim" else "this run", getattr(case, name), -at, None) for name, _, label in marks
        ]
        axis.text(case.claim, 0.18 - at, "refuted" if wrong else "", ha="center", color=plots.COLOURS[1])
    for name, marker, label in marks:
        look = {"ms": 14, "mew": 3} if name == "claim" else {"ms": 7, "mfc": "white" if name == "truth" else None}
        axis.plot(cases[name], -np.arange(len(cases)), marker, color="black", label=label, **look)
    axis.set_yticks(-np.arange(len(cases)), cases["client"])
    axis.set(xlabel="ε", xlim=(0, None), ylim=(0.5 - len(cases), 0.5))
    for at, (words, bound) in enumerate(zip(because, cases["bound"])):
        plot_style.note(axis, words, (bound, -at), (0.26, 1 - (at + 1) / len(cases)))
    figure.legend(loc="outside upper center", ncols=3)
    return plots.attach(figure, pd.DataFrame(rows, columns=plots.COLUMNS))


def draw_steps(rows, back=None, because=()):
    """Draw rows of boxes with arrows from box to box.

    `rows` has a title, the captions and the contents of each row's boxes. `back` is an arrow from the last box of one row to the
    one before the last of another, with its text. `because` has the row, the box and the words of notes below boxes.
    """
    figure, axis = plt.subplots(figsize=(6.6, 0.9 * len(rows) + 0.2), layout="constrained")
    found = []
    for at, (title, boxes) in enumerate(rows):
        axis.text(-0.42, -at, title, ha="right", va="center", weight="bold")
        for i, (caption, content) in enumerate(boxes):
            axis.text(
                i,
                -at,
                content,
                ha="center",
                va="center",
                bbox={"boxstyle": "round,pad=0.35", "fc": "white", "ec": plots.COLOURS[0]},
            )
            axis.text(i, 0.3 - at, caption, ha="center", va="bottom", fontsize=8.5, color="0.35")
            found.append((title, caption, content))
            if i:
                axis.annotate("", (i - 0.34, -at), (i - 0.66, -at), arrowprops={"arrowstyle": "->"})
    if back:
        one, two, words = back
        end, colour = len(rows[one][1]) - 1, plots.COLOURS[1]
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.6}
        axis.annotate("", (end - 0.85, 0.5 - two), (end - 0.1, -0.2 - one), arrowprops=arrow)
        axis.text(end - 0.62, -0.33 - one, words, color=colour, ha="right", va="center", weight="bold")
    axis.set(xlim=(-1.1, max(len(boxes) for _, boxes in rows) - 0.55), ylim=(-len(rows) + 0.5, 0.6))
    axis.set(xticks=[], yticks=[])  # the frame stays, without its lines: it is what a tile shows
    axis.spines[:].set_visible(False)
    for row, box, words in because:
        plot_style.note(axis, words, (box, -0.2 - row), axis.transLimits.transform((box, -0.42 - row)))
    return plots.attach(figure, pd.DataFrame(found, columns=["row", "step", "shows"]))


def journeys(epsilon, value, other, users, seed):
    """Send one user's pairs through PCKV and two rounds of CPP.

    Returns
    -------
    rows : list
        For `draw_steps`: what each step shows.
    means, expected : float array, shape (1, 2)
        Means that the server sends back after the first round of CPP, from `users` reports and in expectation.
    """
    pairs, rows = [(0, value), (2, other)], []
    held = f"⟨1, {value:g}⟩\n⟨3, {other:g}⟩"
    for client in (PCKVUE(3, epsilon, padding=2), PCKVGRR(3, epsilon, padding=2)):
        sets, name = KeyValues.of([pairs], 3), ("journey", client.name)
        (key,), (sign,) = client.sample(sets, generator(seed, *name))
        report = client.perturb(sets, generator(seed, *name))[0]  # it samples the same pair from the same stream
        symbols = ",".join(f"{s:+d}" if s else "0" for s in report)
        sent = f"({symbols})" if client.name == "PCKV-UE" else f"⟨{report[0] + 1}, {report[1]:+d}⟩"
        chosen = dict(pairs)[int(key)]
        rows.append((client.name, [("set of pairs", held), ("sampled pair", f"⟨{key + 1}, {chosen:g}⟩"), ("its sign", f"⟨{key + 1}, {sign:+d}⟩"), ("report", sent)]))  # fmt: skip
    client, rng = CPPUE(1, epsilon, 4, 2), generator(seed, "round one")
    crowd = KeyValues.of([[(0, value)]] * (users // 2) + [[]] * (users // 2), 1)
    reports = client.perturb(crowd, rng)
    means = client.broadcast(*client.tally(reports)[1:])
    law = (client.distribution([(0, value)]) + client.distribution([])) / 2
    expected = client.broadcast(*client.tally_counts(law))
    again = client.perturb(KeyValues.of([[]], 1), generator(seed, "round two"), means)[0]
    for title, report, has, source in (
        ("CPP-UE, round 1", reports[0], held, f"value {value:g}"),
        ("CPP-UE, round 2", again, "other\nkeys only", f"means {means[0, 0]:.2f}\nand {means[0, 1]:.2f}"),
    ):
        sent = f"yes, {''.join(map(str, report['record']))}" if report["bit"] else "no"
        rows.append((title, [("set of pairs", has), ("asked for", "key 1"), ("source of the slot", source), ("report", sent)]))
    return rows, means, expected


def groups(client, ownership):
    """Return the exact distributions of the records of both audited groups, whose users hold the pair with this probability."""
    signs = ((0, 1.0), (1, -1.0)) if isinstance(client, PCKVUE) else ((0, -1.0), (0, 1.0))
    cells = [ownership * client.distribution([pair]) + (1 - ownership) * client.distribution([]) for pair in signs]
    return cells if isinstance(client, PCKVUE) else [np.append(c[0] + c[1], c[2:]) for c in cells]


def compared(client, users, seed):
    """Return all outputs of an audit of PCKV-UE by falling ratio: shares and ratios of one run, and the exact ones."""
    laws = groups(client, 0.5)
    found = pd.DataFrame({f"exact{i}": law for i, law in enumerate(laws, 1)})
    for i, law in enumerate(laws, 1):
        found[f"share{i}"] = generator(seed, "group", i).multinomial(users, law) / users
    with np.errstate(divide="ignore", invalid="ignore"):
        found["ratio"] = np.log(found["share1"] / found["share2"]).where(lambda r: np.isfinite(r))
    found["exact_ratio"] = np.log(found["exact1"] / found["exact2"])
    return found.sort_values("exact_ratio", ascending=False, kind="stable", ignore_index=True)


def pair_tables(clients, ownership, users, seed):
    """Return the joint distribution of the two audited positions of each client, in one run and exactly. Signs of PCKV-UE are left out."""
    rows = []
    for name, client in clients.items():
        ternary = isinstance(client, PCKVUE)
        length, base = (client.d, 3) if ternary else (client.buckets, 2)
        positions = (0, 1) if ternary else (0, length - 1)
        exact = [collapse(law, positions, base, length).reshape(base, base) for law in groups(client, ownership)]
        if ternary:  # symbols -1, 0, 1: a key is set or not
            merge = np.array([[0, 1], [1, 0], [0, 1]])
            exact = [merge.T @ table @ merge for table in exact]
        shares = [generator(seed, name, i).multinomial(users, table.ravel()) / users for i, table in enumerate(exact)]
        for at, pair in enumerate(("00", "01", "10", "11")):
            rows.append((name, pair, *(table.ravel()[at] for table in exact), *(share[at] for share in shares)))
    return pd.DataFrame(rows, columns=["client", "pair", "exact1", "exact2", "share1", "share2"])
