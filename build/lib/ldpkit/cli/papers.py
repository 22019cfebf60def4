"""The commands about four of the papers: audits of key-value mechanisms and of gradients, the
reconstruction advantage, and refinement against attacks."""

import math
from typing import Annotated

import click

from .. import refine as refinement
from ..attacks import MaximalGain
from ..attacks.gradient import ADVERSARIES, RULES
from ..auditors import AuditResult, GradientAudit, KVAudit, RADAudit, ShuffleAudit, count_ratio, kv
from ..auditors import rad as reconstruction
from ..auditors.base import Alpha, Seed
from ..auditors.result import Row, finite
from ..checks import integer, need
from ..mechanisms import GRADIENT, KEY_VALUE
from ..mechanisms.base import Epsilon
from ..mechanisms.correlated import CPP
from ..types import Word
from .frame import Table, options

# --- key-value mechanisms -------------------------------------------------------------------------


def audit_kv(
    mechanism: Annotated[
        str, {"type": click.Choice([*KEY_VALUE], case_sensitive=False)}, "Mechanism."
    ],
    epsilon: Annotated[Epsilon, "Claimed epsilon of all rounds, in [1e-6, 30]."],
    keys: Annotated[int | None, "Keys of PCKV, at least 1.  [default: 4]"] = None,
    padding: Annotated[
        int | None, "Length to which sets are padded, at least 1 (PCKV).  [default: 1]"
    ] = None,
    share: Annotated[
        float | None,
        "Part of epsilon that PCKV spends, in (0, 1].  [default: 0.5, as the paper's numbers need]",
    ] = None,
    eta: Annotated[
        str | None,
        {"type": click.Choice(["correct", "floor"])},
        "Sampling rate of PCKV's real pairs.  [default: correct]",
    ] = None,
    buckets: Annotated[
        int | None, "Boundary points of the value range, even, in [2, 64] (CPP).  [default: 4]"
    ] = None,
    rounds: Annotated[
        int | None,
        "Rounds, in [1, 10^6], of which the last is shown (CPP, PrivKV).  [default: 5, PrivKV: 1]",
    ] = None,
    auditor: Annotated[str, f"One of {', '.join(kv.AUDITORS)}."] = "hkv",
    users: Annotated[
        int, "Users per group, at most 10^12, half of whom are imitators under skv."
    ] = 10**8,
    alpha: Alpha = 0.05,
    seed: Seed = 1,
    **words: Annotated[Word, options(KVAudit, "estimator", "minimum", "ownership")],
) -> AuditResult:
    """Audit a key-value mechanism with KV-Auditor."""
    given = {
        "k": keys, "padding": padding, "share": share, "eta": eta, "buckets": buckets,
        "rounds": rounds,
    }  # fmt: skip
    own: Row = {"k": 1} if issubclass(KEY_VALUE[mechanism], CPP) else {"k": 4, "share": 0.5}
    own |= {name: value for name, value in given.items() if value is not None}
    sides = 2 if auditor == "skv" else 1
    least = 2 * sides if words.get("estimator") in count_ratio.HALVED else sides
    trials = integer("users", users, least, 10**12) // sides
    audit = KVAudit.of(
        mechanism=mechanism, epsilon=epsilon, attack=auditor, trials=trials, alpha=alpha,
        last=True, **own, **words,
    )  # fmt: skip
    return audit.run(seed)[-1]


# --- gradients ------------------------------------------------------------------------------------


def audit_gradient(
    adversary: Annotated[
        str, {"type": click.Choice(ADVERSARIES)}, "Adversary who crafts the gradients."
    ],
    mechanism: Annotated[
        str, {"type": click.Choice([*GRADIENT], case_sensitive=False)}, "Randomiser of gradients."
    ] = "LDP-SGD",
    rule: Annotated[
        str, {"type": click.Choice([*RULES])}, "The paper's rule, or the likelihood-ratio event."
    ] = "cosine",
    seed: Seed = 1,
    **words: Annotated[
        Word,
        options(GradientAudit.of, "epsilon", "dimension", "norm", "clip", "pairs"),
        options(GradientAudit, "trials", "alpha", "faithful"),
    ],
) -> list[AuditResult]:
    """Audit a randomised gradient: can the server tell which of two gradients a client sent?"""
    return GradientAudit.of(adversary, mechanism=mechanism, attack=rule, **words).run(seed)


def audit_shuffle(
    seed: Seed = 1,
    **words: Annotated[
        Word, options(ShuffleAudit, "epsilon", "clients", "delta", "trials", "alpha", "faithful")
    ],
) -> list[AuditResult]:
    """Audit shuffled LDP-SGD: can the server tell apart two batches that differ in a gradient?"""
    return ShuffleAudit(**words).run(seed)


# --- the reconstruction advantage -----------------------------------------------------------------


def rad(
    m: reconstruction.Records,
    mechanism: Annotated[
        str | None,
        {"metavar": "NAME"},
        f"Protocol that makes the reports, one of {', '.join(reconstruction.PROTOCOLS)}.",
    ] = None,
    epsilon: Annotated[
        float | None, "Budget, in [1e-6, 30], or with counts the claimed epsilon, at least 0."
    ] = None,
    successes: Annotated[int | None, "Number of reports whose record was named."] = None,
    reports: Annotated[int | None, "Number of reports, equal for all records."] = None,
    **level: Annotated[Word, options(reconstruction.epsilon_interval, "delta", "alpha")],
) -> AuditResult | Table:
    """Print the exact reconstruction advantage of a protocol, or bound epsilon by counts."""
    need((successes is None) == (reports is None), "--successes and --reports belong together")
    m = integer("m", m, 2)
    if successes is not None and reports is not None:
        claim = math.inf if epsilon is None else epsilon
        return reconstruction.rad_result(successes, reports, m, mechanism, claim=claim, **level)
    if mechanism is None or epsilon is None:
        raise ValueError("give --mechanism and --epsilon, or --successes and --reports")
    exact = reconstruction.rad_uniform(RADAudit.target(mechanism, k=m, epsilon=epsilon))
    rates = {"rad": exact, "success_rate": exact + 1 / m}
    lines = [
        ("mechanism", f"{mechanism} (m = {m}, epsilon = {epsilon:g})"),
        ("RAD", f"{exact:.8f}"),
        ("success", f"{exact + 1 / m:.8f}, of which {1 / m:.8f} by chance"),
    ]
    verdict = "No attack has a larger advantage at a uniform prior without side knowledge."
    row = {"mechanism": mechanism, "m": m, "epsilon": epsilon, **rates}
    return Table(row, lines, verdict)


def calibrate(**words: Annotated[Word, options(reconstruction.calibrate)]) -> Table:
    """Find the least noise that keeps an accepted risk."""
    found = reconstruction.calibrate(**words)
    unit = (
        "clipping norms on the summed gradients"
        if found.mechanism == "dpsgd"
        else "the query's unit"
    )
    texts = {
        "epsilon": "any: the risk is never reached" if found.epsilon == math.inf else "{:.6f}",
        "noise": f"{{:.6f}} in {unit}",
        "printed": "{:.6f} by the paper's rule, too little",
    }
    given = [(name, text, getattr(found, name)) for name, text in texts.items()]
    lines = [("mechanism", f"{found.mechanism}, {found.m} candidates")]
    lines += [(name, text.format(value)) for name, text, value in given if value is not None]
    who = "who knows nothing else" if found.knowledge == "none" else "with any side knowledge"
    verdict = f"No adversary {who} has a reconstruction advantage above {found.risk:g}."
    return Table(found.row(), lines, verdict)


# --- refinement -----------------------------------------------------------------------------------


def refine(
    family: Annotated[str, f"One of {', '.join(refinement.FAMILIES)}."],
    k: Annotated[int, "Domain size, at least 2 (3 for ss)."],
    epsilon: Epsilon,
    strategy: Annotated[str, f"One of {', '.join(refinement.STRATEGIES)}."] = "weighted",
    limit: Annotated[float, "Largest success rate, in [0, 1] (epsilon-constraint)."] = 0.1,
    w_asr: Annotated[float, "Weight of the attacker's success rate, at least 0."] = 0.5,
    w_mse: Annotated[float, "Weight of the variance per user, at least 0."] = 0.5,
    w_epg: Annotated[float, "Weight of the expected poisoning gain, at least 0."] = 0.0,
    published: Annotated[
        bool, "The paper's grid of p and its success rate of local hashing."
    ] = False,
    targets: Annotated[
        int | None, "Number of values that fake users promote.  [default: 10, or k if smaller]"
    ] = None,
    **fakes: Annotated[Word, options(MaximalGain, "share", "frequency")],
) -> Table:
    """Choose the parameter of an adaptive protocol and compare it with the classical ones."""
    attack = MaximalGain(targets=min(10, max(k, 1)) if targets is None else targets, **fakes)
    asr, grid = ("published", "published") if published else ("exact", None)
    weights = (w_asr, w_mse, w_epg)
    chosen = refinement.refine(
        family, k, epsilon, weights=weights, strategy=strategy, limit=limit, grid=grid, asr=asr,
        poisoning=attack,
    )  # fmt: skip
    adaptive = refinement.FAMILIES[family]
    name = adaptive.parameter
    rows: list[Row] = [
        {"mechanism": m.name, name: getattr(m, name, None)} | refinement.scores(m, asr, attack)
        for m in (chosen, *(classical(k, epsilon) for classical in adaptive.classical))
    ]
    first, *others = [{key: finite(value) for key, value in row.items()} for row in rows]
    given = {"family": family, "k": k, "epsilon": epsilon, "strategy": strategy}
    lines = [
        (
            row["mechanism"],
            ("-" if row[name] is None else f"{row[name]:.6g}").ljust(12)
            + f"{row['asr']:<12.6f}{row['mse']:<12.6g}"
            + (f"{row['epg']:.6f}" if math.isfinite(row["epg"]) else "unlimited"),
        )
        for row in rows
    ]
    verdict = (
        f"{chosen.name} is refined by strategy {strategy}; MSE is the variance per user, EPG the"
        f" gain of {attack.share:g} fake users on {attack.targets} targets."
    )
    if strategy == "hypervolume" and max(rows[0]["mse"], (w_epg > 0) * rows[0]["epg"]) >= 1:
        verdict += (
            " Some objective is always at least 1: every hypervolume is 0 and the front's first"
            " point was taken."
        )
    return Table(
        given | {"weights": weights, **first, "classical": others},
        [("protocol", f"{name:<12}{'ASR':<12}{'MSE':<12}EPG"), *lines],
        verdict,
    )
