"""Run the audits of this chapter, draw their curves, and compare their results with the paper's."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import stats

from ldpbook import paper_values, plots
from ldpbook.paper_values import half_width
from ldpbook.stored import combinations, sweep
from ldpkit.auditors import DistributionAudit, KVAudit
from ldpkit.mechanisms import KeyValues
from ldpkit.rng import derive, generator


def kv_auditor(*, auditor="hkv", users=10**8, alpha=0.05, **cell):
    """Audit one cell with the paper's parameters: `users` per group, half of whom are imitators for the auditor ``skv``."""
    trials = users // 2 if auditor == "skv" else users
    return KVAudit.cell(attack=auditor, trials=trials, alpha=alpha, **cell)


def designs(given, common, seed):
    """Run `kv_auditor` for every design, a mapping from series to parameters, and every epsilon of `common`; return one table."""
    grids = {series: [cell | own for cell in combinations(common)] for series, own in given.items()}
    tables = [sweep(kv_auditor, grid, seed=seed, label=series).assign(series=series) for series, grid in grids.items()]
    return pd.concat(tables, ignore_index=True)


def decayed(total, rounds, factor=0.5):
    """Return budgets of the rounds that decay exponentially and add up to a total (PBAt)."""
    parts = factor ** np.arange(rounds)
    return total * parts / parts.sum()


def round_leaks(mechanism, budgets, squads, ownership):
    """Return what the first squad leaks against its imitators in each round of CPP-UE, without noise, for given budgets of the value."""
    means, leaks, bucket = None, [], mechanism.place(squads[:1])[0][0]
    for budget in budgets:
        spent, rate = replace(mechanism, epsilon=2 * budget, rounds=1), mechanism.key_rate(means)
        seen = []
        for value in (*squads, mechanism.started(means)[0, bucket]):  # the imitators hold the mean of the bucket
            after = [
                spent.distribution(pairs, means)[1:] for pairs in ([(0, value)], [])
            ]  # after a yes, whose budget is the key's
            owner, other = (part / part.sum() for part in after)
            yes = ownership * rate * owner + (1 - ownership) * (1 - rate) * other
            seen.append(np.append(1 - yes.sum(), yes))
        records = [np.append(cells[0] + cells[1], cells[2:]) for cells in seen]
        leaks.append(np.abs(np.log(records[0] / records[-1])).max())
        means = spent.broadcast(*spent.tally_counts(np.sum(seen[:-1], axis=0)), means)
    return leaks


def laws(given, epsilons, runs, seed, users, **common):
    """Audit pairs of exact distributions, and return one row for each run.

    `given` maps a series to a function of epsilon that returns the arguments of `DistributionAudit`.
    """
    rows = []
    for series, make in given.items():
        for epsilon in epsilons:
            *pair, own = make(epsilon)
            for run in range(runs):
                result = DistributionAudit(*pair, trials=users, **common | own).run(derive(seed, series, epsilon, run))[0]
                rows.append(result.row() | {"series": series, "epsilon": epsilon, "run": run})
    return pd.DataFrame(rows)


def summary(table, by=("series", "epsilon", "round")):
    """Return mean, standard deviation, noise-free limit and mean valid bound of every cell.

    The mean is NaN if a run has no number.
    """
    cell = table.groupby(list(by), sort=False).agg(
        mean=("epsilon_emp", "mean"), sd=("epsilon_emp", "std"), limit=("limit", "first"), lower=("lower", "mean"),
        runs=("run", "size"), known=("epsilon_emp", "count")).reset_index()  # fmt: skip
    cell["mean"] = cell["mean"].where(cell.pop("known") == cell["runs"])
    cell["sd"] = cell["sd"].fillna(0.0)
    return cell


def compare(board, cell, item, comparable=True, notes=None, settings=None):
    """Record every cell on a scoreboard, and return the cells next to the paper's values and the deviations from these.

    The paper's number is the result of a single run, and therefore scatters as well. The standard error of a comparison is that
    of the difference between a single run and the mean of ours. Where five such errors exceed half the value, nothing is
    compared. A deviation is given in standard deviations of one run. `notes` explain differences, by series and epsilon.
    `settings` state which parameters were fitted, by series.
    """
    table = paper_values.load("kv_auditor")
    found = []
    for row in cell.to_dict("records"):
        printed = table[(table["item"] == item) & (table["series"] == row["series"]) & (table["x"] == row["epsilon"])]
        given, error = {"setting": (settings or {}).get(row["series"], "")}, row["sd"] / row["runs"] ** 0.5
        if comparable and len(printed):
            value, source = float(printed["value"].iloc[0]), printed["source"].iloc[0]
            relative = re.search(r"relative error ([\d.]+)", source)
            read, apart = float(relative[1]) * value if relative else 5e-5, row["sd"] * (1 + 1 / row["runs"]) ** 0.5
            row |= {"paper": value, "apart": abs(value - row["mean"]) / row["sd"]}
            if half_width(apart, read, None, "") <= value / 2:
                error = apart
                given |= {"published": value, "published_error": read, "note": (notes or {}).get((row["series"], row["epsilon"]), ""),
                          "kind": "digitised curve" if relative else "printed number"}  # fmt: skip
            else:
                given["note"] = (
                    f"The paper's {value:g} is not compared: a single run scatters too much to tell it from half of it."
                )
        board.add(row["series"], row["epsilon"], row["mean"], error, **given)
        found.append({"paper": None, "apart": None} | row)
    return pd.DataFrame(found)


def counted(mechanism, pairs, users, seed):
    """Make real reports of users who all hold the same pairs.

    The result has the exact distribution of the outputs, their counts, the chi-square statistic and its p-value.
    """
    keys, values = zip(*pairs)
    held = np.arange(users + 1) * len(pairs)
    crowd = KeyValues(held, np.tile(keys, users), np.tile(values, users), mechanism.k)
    law = mechanism.distribution(pairs)
    reports = mechanism.perturb(crowd, generator(seed, "law", mechanism.name))
    seen = np.bincount(mechanism.encode(reports), minlength=law.size)
    return law, seen, *stats.chisquare(seen, law * users)


def follow(board, mechanisms, pairs, users, seed):
    """Record how closely real reports follow the exact distributions from which a page samples its counts."""
    for m in mechanisms:
        law, _, distance, chance = counted(m, pairs, users, seed)
        free = law.size - 1
        board.add(f"{m.name}, chi-square of {users:,} real reports over {law.size} outputs", m.epsilon, distance, (2 * free) ** 0.5,
                  exact=free, chance=chance, how="real reports")  # fmt: skip


def triples(cell, digits=4):
    """Return a table whose entries have up to three lines: the paper's value, this run ± sd, and the value without sampling
    noise.

    There is a row for each epsilon, which names the lines, and a column for each series.
    """
    lines = {"paper": [f"{v:.{digits}f}" if pd.notna(v) else "–" for v in cell["paper"]]} if cell["paper"].notna().any() else {}
    lines["run"] = [plots.number(m, digits, f" ± {s:.{digits}f}") for m, s in zip(cell["mean"], cell["sd"])]
    lines["exact"] = [f"{limit:.{digits}f}" for limit in cell["limit"]]
    text = ["\n".join(entry) for entry in zip(*lines.values())]
    wide = cell.assign(text=text).pivot(index="epsilon", columns="series", values="text")[list(dict.fromkeys(cell["series"]))]
    wide = wide.rename_axis(columns=None).reset_index()
    wide["epsilon"] = [f"{e:g}: " + "\n".join(lines) for e in wide["epsilon"]]
    return plots.show(wide).set_properties(**{"white-space": "pre"}).set_properties(subset=["epsilon"], **{"text-align": "right"})


def curves(parts, claims, x="stated ε", size=(4.3, 3.5), columns=2, notes=()):
    """Draw every series with its mean and deviation, its value without sampling noise, and the paper's values, in one panel for
    each part.

    `claims` has for each panel the name of its dashed line and the multiple of the budget at which it lies.
    """
    drawn = []
    for (title, cell), (claim, factor) in zip(parts.items(), claims, strict=True):
        shown = cell.assign(limit=cell["limit"].where(cell["limit"] > 0), claim=factor * cell["epsilon"])
        sources = {"this run": ("mean", "sd"), "exact": "limit", "paper": "paper"}
        drawn.append(plots.tidy(shown, panel=title, series="{series}", x="epsilon", sources=sources, claim={claim: "claim"}))
    return plots.figure(pd.concat(drawn, ignore_index=True), x=x, y="audited ε", xscale="log", yscale="log", columns=columns, size=size,
                        own=True, notes=notes)  # fmt: skip


def ratings(seed, users=105_508, k=5_850):
    """Return made-up ratings of a shop, `KeyValues` sized like the clothing ratings on which PCKV was tested.

    Most people rate one item, and few rate very many. Popularity falls like ``1 / (rank + 5)``, item means scatter around 0.7,
    and ratings are multiples of 1/2. Items keep their popularity and mean for all seeds.

    Parameters
    ----------
    seed : int
        Non-negative.
    users, k : int
        Number of people, each with at least one rating, and of items.
    """
    rng, item = generator(seed, "ratings", users, k), generator(0, "items", k)
    share = item.permutation(1 / (np.arange(k) + 5.0))
    level = np.clip(item.normal(0.7, 0.25, k), -0.9, 0.95)
    user = np.repeat(np.arange(users), np.minimum(rng.zipf(2.5, users), k))
    pair = np.unique(np.column_stack([user, rng.choice(k, user.size, p=share / share.sum())]), axis=0)  # a key counts once
    half = rng.binomial(4, (1 + level[pair[:, 1]]) / 2) / 2 - 1
    return KeyValues(np.append(0, np.cumsum(np.bincount(pair[:, 0], minlength=users))), pair[:, 1], half, k)
