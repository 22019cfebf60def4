"""Play and draw the paper's test of a randomiser, and list its adversaries and the audits before it."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ldpbook import datasets, neural_networks, plot_style, plots
from ldpkit.attacks.gradient import RULES, dummy
from ldpkit.attacks.reconstruct import finite_distribution
from ldpkit.auditors.gradient import epsilon_from_errors
from ldpkit.mechanisms import LDPSGD
from ldpkit.rng import generator


def game(client, pair, trials, seed):
    """Play the test with real reports: one row per trial with the truth, two components of the report, and the guess."""
    rng, axis = generator(seed, "game", client.d), pair.first[0] / np.linalg.norm(pair.first[0])
    across = np.linalg.qr(np.column_stack([axis, rng.standard_normal(client.d)]))[0][:, 1]
    heads = np.arange(trials) % 2 == 0
    reports = client.perturb(np.where(heads[:, None], pair.first, pair.second), rng)
    accepted = RULES["cosine"].accepts(
        client, reports, (np.repeat(pair.first, trials, 0), np.repeat(pair.second, trials, 0)), rng
    )
    names = np.array(["second", "first"])
    return pd.DataFrame(
        {
            "truth": names[heads.astype(int)],
            "along": reports @ axis,
            "across": reports @ across,
            "guess": names[accepted.astype(int)],
        }
    )


def draw_phases(played, batches, clients, p):
    """Draw both phases of the test, and the count of a shuffled batch, as one figure with its table."""
    figure, (craft, tell, batch) = plt.subplots(1, 3, figsize=(8.6, 3.1), layout="constrained")
    rows, far = [], 1.15 * played[["along", "across"]].abs().max().max()
    width = 4 * (clients * p * (1 - p)) ** 0.5 + 2
    counts = np.arange(max(0, int(clients * p - width)), min(clients, int(clients * p + width)) + 1)
    batched = "all hold the first", "one holds the second"
    for i, (name, sign) in enumerate((("first", 1), ("second", -1))):
        look, own = {"color": plots.COLOURS[i]}, played[played["truth"] == name].head(500)
        craft.plot(own["along"], own["across"], plots.MARKERS[i], ms=2.4, alpha=0.5, mew=0, **look)
        craft.annotate("", (sign * 0.8 * far, 0), (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2.5, **look}, zorder=9)
        tell.hist(own["along"], np.linspace(-far, far, 31), alpha=0.55, label=f"{name} gradient", **look)
        batch.plot(counts, batches[i][counts], plots.MARKERS[i], ms=3.5, mfc="none", label=batched[i], **look)
        rows += [("reports", name, "this run, real reports", *point, None) for point in own[["along", "across"]].to_numpy()]
        rows += [("batch", batched[i], "exact", n, batches[i][n], None) for n in counts]
    craft.set(title="Crafting: gradients, reports", xlabel="along the first gradient", ylabel="across", xlim=(-far, far))
    tell.axvline(0, color="black", ls=":")
    tell.set(title="Distinguishing: the cosine", xlabel="cosine to the first gradient", ylabel="reports")
    batch.axvline(clients * p, color="black", ls=":")
    batch.set(title=f"A batch of {clients:,} reports", xlabel="reports with a positive cosine", ylabel="probability")
    if p < 0.99:
        plot_style.note(tell, "turned to the\nwrong side", (-0.2 * far, 0), (0.2, 0.87))
    plot_style.note(batch, f"one of {clients:,}\nreports differs", (clients * p, batches[0][counts].max()), (0.19, 0.75))
    figure.legend(loc="outside upper center", ncols=4)
    return plots.attach(figure, pd.DataFrame(rows, columns=plots.COLUMNS))


def every_test(mechanism, epsilon):
    """Return how many tests a finite mechanism has, the smallest left side of Theorem 1, and how many tests break it at 0.9 epsilon.

    A test rejects the first of two values for a set of reports, and the values are 0 and 1.
    """
    one, two = finite_distribution(mechanism)[:2]
    rejects = np.array([*itertools.product((0.0, 1.0), repeat=one.size)])
    fpr, fnr = rejects @ one, (1 - rejects) @ two
    left = [np.minimum(fpr + np.exp(e) * fnr, np.exp(e) * fpr + fnr) for e in (epsilon, 0.9 * epsilon)]
    return len(rejects), left[0].min(), int((left[1] < 1 - 1e-9).sum())


def table2(epsilon, seed, pairs=300):
    """Return the paper's Table 2 with the function that crafts each pair and the exact epsilon of the cosine rule."""
    x, y = datasets.digits()
    net = neural_networks.mlp([64, 16, 10], generator(seed, "net"))
    net = neural_networks.train(net, x, y, rounds=150, lr=0.2, rng=generator(seed, "train"))

    def teach(fresh, own_x, own_y):
        neural_networks.train(fresh, own_x, own_y, rounds=20, lr=0.2, rng=generator(seed, "teach"))

    given = net, x, y, pairs, generator(seed, "pairs")
    crafted = [
        ("benign", "nothing", "benign", "of a record", "of another record", "neural_networks.benign", neural_networks.benign(*given)),
        ("label flip", "inputs", "parameters", "of a record", "with another label", "neural_networks.label_flip", neural_networks.label_flip(*given)),
        ("gradient flip", "gradients", "benign", "of a record", "its negative", "neural_networks.gradient_flip", neural_networks.gradient_flip(*given)),
        ("collusion", "gradients", "parameters", "of a malicious model", "its negative", "neural_networks.collude", neural_networks.collude(*given, teach)),
        ("dummy", "gradients", "benign", "equal numbers", "its negative", "attacks.gradient.dummy", dummy(net.d)),
    ]  # fmt: skip
    names = ["adversary", "client changes", "server", "first gradient", "second gradient", "function"]
    client = LDPSGD(net.d, epsilon)
    exact = [epsilon_from_errors(*RULES["cosine"].rates(client, pool)) for *_, pool in crafted]
    return pd.DataFrame([row[:-1] for row in crafted], columns=names).assign(exact=exact)


def related():
    """Return the paper's Table 1 with what each audit looks at, in our words."""
    return pd.DataFrame(
        [
            ("Jagielski et al. 2020", "central", "DP-SGD", "many models, trained with and without poisoned records"),
            ("Nasr et al. 2021", "central", "DP-SGD", "models and gradients, from weak to worst-case adversaries"),
            ("Lu et al. 2022", "central", "DP-SGD", "models, by any statistic of a pair of data sets"),
            ("Bernau et al. 2021", "central", "DP-SGD", "how well an adversary identifies one of two data sets"),
            ("Zanella-Béguelin et al. 2022", "central", "DP-SGD", "models, with Bayesian intervals of both error rates"),
            ("Maddock et al. 2022", "federated", "DP-Fed. SGD/Avg.", "updates, by crafted records that stand out in each round"),
            ("Andrew et al. 2023", "federated", "DP-Fed. SGD/Avg.", "one training run, by random directions"),
            ("LDP-SGD paper", "federated, local and shuffled", "LDP-SGD", "single reports of a client, or batches of them"),
        ],
        columns=["audit", "setting", "mechanism", "what it looks at"],
    )


def directions(budgets, reports, length, seed):
    """Return real reports of gradients along the first axis, with so many per budget and dimension (2 and 3)."""
    rows = []
    for d in (2, 3):
        gradients = np.tile(length * np.eye(d)[0], (reports, 1))
        for epsilon in budgets:
            found = LDPSGD(d, epsilon).perturb(gradients, generator(seed, "directions", d, epsilon))
            rows.append(pd.DataFrame(found, columns=list("xyz")[:d]).assign(d=d, epsilon=epsilon))
    table = pd.concat(rows, ignore_index=True)
    return table.assign(side=np.where(table["x"] > 0, 1, -1))


def draw_spheres(drawn, budgets):
    """Draw the reports of `directions` on circles and spheres, as one figure with its table."""
    figure = plt.figure(figsize=(9.2, 2.9), layout="constrained")
    notes = ("a coin chooses\nthe half", (0, -0.5), (0.3, 0.5)), ("uniform\nwithin its half", (0.6, 0.8), (0.29, 0.62))
    rows = []
    for place, (d, epsilon) in enumerate(itertools.product((2, 3), budgets), 1):
        own = drawn[(drawn["d"] == d) & (drawn["epsilon"] == epsilon)]
        axis = figure.add_subplot(1, 4, place, **({"projection": "3d"} if d == 3 else {"aspect": "equal"}))
        for side, colour, marker in zip((1, -1), plots.COLOURS, plots.MARKERS):
            points = own.loc[own["side"] == side, list("xyz")[:d]].to_numpy()
            label = "in the gradient's half" if side > 0 else "in the other half"
            axis.plot(*points.T, marker, color=colour, ms=3, alpha=0.6, mew=0, label=label if place == 1 else None)
            rows.append((f"{d} dimensions, ε = {epsilon:g}", label, "this run, real reports", None, len(points) / len(own), None))
        t = np.linspace(0, 2 * np.pi, 100)
        axis.plot(*((np.cos(t), np.sin(t)) if d == 2 else (0 * t, np.cos(t), np.sin(t))), color="0.6", lw=0.8, zorder=0)
        if d == 2:
            axis.add_patch(plt.matplotlib.patches.Wedge((0, 0), 1, -90, 90, color=plots.COLOURS[0], alpha=0.12, lw=0))
            axis.annotate("", (0.8, 0), (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2})
            words, point, at = notes[min(place, 2) - 1]
            plot_style.note(axis, words, point, at)
            axis.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
        else:
            axis.quiver(0, 0, 0, 1.4, 0, 0, color="black", arrow_length_ratio=0.15)
            axis.set_box_aspect((1, 1, 1), zoom=1.25)
            axis.view_init(elev=18, azim=-75)
        axis.set_title(f"{d} dimensions, ε = {epsilon:g}")
        axis.axis("off")
    figure.legend(loc="outside lower center", ncols=2)
    return plots.attach(figure, pd.DataFrame(rows, columns=plots.COLUMNS))
