"""The commands about four of the papers: audits of key-value mechanisms and of gradients, the
reconstruction advantage, and refinement against attacks."""

import math

import click

from .. import refine as refinement
from ..attacks import MaximalGain
from ..attacks.gradient import ADVERSARIES, RULES
from ..auditors import GradientAudit, KVAudit, RADAudit, ShuffleAudit, count_ratio, kv
from ..auditors import rad as reconstruction
from ..auditors.result import Row, finite
from ..checks import integer, need
from ..mechanisms import GRADIENT, KEY_VALUE, PCKVUE, PrivKV
from ..mechanisms.correlated import CPP
from ..refine import front
from ..refine.pareto import select
from ..types import Word
from .options import as_json, cli, conclude, options, strict, write

# --- key-value mechanisms -------------------------------------------------------------------------

_PCKV = {"k": 4, "share": 0.5}  # as in the paper


@cli.command("audit-kv")
@click.option("--mechanism", type=click.Choice([*KEY_VALUE], case_sensitive=False), required=True)
@click.option("--epsilon", type=float, required=True, help="Claimed epsilon of all rounds.")
@options(
    PCKVUE,
    only=("k", "padding", "share", "eta"),
    own=True,
    k={"flag": "--keys", "help": "Keys of PCKV.  [default: 4]"},
    padding={"help": "Length to which sets are padded (PCKV).  [default: 1]"},
    share={
        "help": "Part of epsilon that PCKV spends.  [default: 0.5, as the paper's numbers need]"
    },
    eta={
        "type": click.Choice(["correct", "floor"]),
        "help": "Sampling rate of PCKV's real pairs.  [default: correct]",
    },
)
@options(
    CPP,
    only=("buckets", "rounds"),
    own=True,
    buckets={"help": "Boundary points of the value range (CPP), even.  [default: 4]"},
    rounds={
        "help": (
            f"Rounds (CPP, PrivKV), of which the last is shown.  [default: {CPP.rounds}, PrivKV:"
            f" {PrivKV.rounds}]"
        )
    },
)
@options(
    KVAudit,
    count_ratio.statistic,
    only=("attack", "trials", "alpha", "ownership", "estimator", "minimum"),
    attack={"flag": "--auditor", "help": f"One of {', '.join(kv.AUDITORS)}."},
    trials={"flag": "--users", "help": "Users per group, half of whom are imitators under skv."},
    alpha={"default": 0.05},
    estimator={"help": f"One of {', '.join(count_ratio.ESTIMATORS)}."},
)
@options(KVAudit.run)
@strict
@as_json
def audit_kv(
    mechanism: str, trials: int, seed: int, strict: bool, as_json: bool, **words: Word
) -> int:
    """Audit a key-value mechanism with KV-Auditor."""
    attack = words["attack"]
    given = {option: value for option, value in words.items() if value is not None}
    own = {"k": 1} if issubclass(KEY_VALUE[mechanism], CPP) else _PCKV
    sides = 2 if attack == "skv" else 1
    least = 2 * sides if words["estimator"] in count_ratio.HALVED else sides
    trials = integer("users", trials, least, 10**12) // sides
    result = KVAudit.of(mechanism=mechanism, trials=trials, last=True, **own | given).run(seed)[-1]
    return conclude([result], as_json, strict)


# --- gradients ------------------------------------------------------------------------------------


@cli.command("audit-gradient")
@options(
    GradientAudit.of,
    GradientAudit,
    adversary={"type": click.Choice(ADVERSARIES)},
    mechanism={"type": click.Choice([*GRADIENT], case_sensitive=False)},
    attack={"flag": "--rule", "type": click.Choice([*RULES])},
)
@options(GradientAudit.run)
@strict
@as_json
def audit_gradient(mechanism: str, seed: int, strict: bool, as_json: bool, **words: Word) -> int:
    """Audit a randomised gradient: can the server tell which of two gradients a client sent?"""
    return conclude(GradientAudit.of(mechanism=mechanism, **words).run(seed), as_json, strict)


@cli.command("audit-shuffle")
@options(ShuffleAudit, only=("epsilon", "clients", "delta", "trials", "alpha", "faithful"))
@options(ShuffleAudit.run)
@strict
@as_json
def audit_shuffle(seed: int, strict: bool, as_json: bool, **words: Word) -> int:
    """Audit shuffled LDP-SGD: can the server tell apart two batches that differ in a gradient?"""
    return conclude(ShuffleAudit(**words).run(seed), as_json, strict)


# --- the reconstruction advantage -----------------------------------------------------------------


@cli.command()
@options(
    reconstruction.rad_result,
    reconstruction.epsilon_interval,
    only=("protocol", "m", "claim", "delta", "successes", "reports", "alpha"),
    protocol={
        "flag": "--mechanism",
        "metavar": "NAME",
        "help": f"Protocol that makes the reports, one of {', '.join(reconstruction.PROTOCOLS)}.",
    },
    claim={
        "flag": "--epsilon",
        "default": None,
        "help": "Budget, or with counts the claimed epsilon.",
    },
    successes={"required": False, "help": "Number of reports whose record was named."},
    reports={"required": False, "help": "Number of reports, equal for all records."},
)
@strict
@as_json
def rad(
    protocol: str | None,
    m: int,
    claim: float | None,
    successes: int | None,
    reports: int | None,
    strict: bool,
    as_json: bool,
    **words: Word,
) -> int:
    """Print the exact reconstruction advantage of a protocol, or bound epsilon by counts."""
    need((successes is None) == (reports is None), "--successes and --reports belong together")
    m = integer("m", m, 2)
    if successes is not None and reports is not None:
        words["claim"] = math.inf if claim is None else claim
        result = reconstruction.rad_result(successes, reports, m, protocol, **words)
        return conclude([result], as_json, strict)
    if protocol is None or claim is None:
        raise click.UsageError("give --mechanism and --epsilon, or --successes and --reports")
    exact = reconstruction.rad_uniform(RADAudit.target(protocol, k=m, epsilon=claim))
    rates = {"rad": exact, "success_rate": exact + 1 / m}
    lines = [
        ("mechanism", f"{protocol} (m = {m}, epsilon = {claim:g})"),
        ("RAD", f"{exact:.8f}"),
        ("success", f"{exact + 1 / m:.8f}, of which {1 / m:.8f} by chance"),
    ]
    verdict = "No attack has a larger advantage at a uniform prior without side knowledge."
    row = {"mechanism": protocol, "m": m, "epsilon": claim, **rates}
    return write(row, lines, verdict, as_json)


@cli.command()
@options(
    reconstruction.calibrate,
    mechanism={"metavar": "NAME", "help": f"One of {', '.join(reconstruction.CALIBRATED)}."},
)
@as_json
def calibrate(mechanism: str, knowledge: str, as_json: bool, **words: Word) -> int:
    """Find the least noise that keeps an accepted risk."""
    found = reconstruction.calibrate(mechanism, knowledge=knowledge, **words)
    unit = "clipping norms on the summed gradients" if mechanism == "dpsgd" else "the query's unit"
    texts = {
        "epsilon": "any: the risk is never reached" if found.epsilon == math.inf else "{:.6f}",
        "noise": f"{{:.6f}} in {unit}",
        "printed": "{:.6f} by the paper's rule, too little",
    }
    given = [(name, text, getattr(found, name)) for name, text in texts.items()]
    lines = [("mechanism", f"{mechanism}, {found.m} candidates")]
    lines += [(name, text.format(value)) for name, text, value in given if value is not None]
    who = "who knows nothing else" if knowledge == "none" else "with any side knowledge"
    verdict = f"No adversary {who} has a reconstruction advantage above {found.risk:g}."
    return write(found.row(), lines, verdict, as_json)


# --- refinement -----------------------------------------------------------------------------------


@cli.command()
@options(
    refinement.refine,
    front,
    select,
    only=("family", "k", "epsilon", "strategy", "limit"),
    family={"help": f"One of {', '.join(refinement.FAMILIES)}."},
    strategy={"help": f"One of {', '.join(refinement.STRATEGIES)}."},
    limit={"help": "Largest success rate (epsilon-constraint)."},
)
@click.option(
    "--w-asr",
    type=float,
    default=0.5,
    show_default=True,
    help="Weight of the attacker's success rate.",
)
@click.option(
    "--w-mse", type=float, default=0.5, show_default=True, help="Weight of the variance per user."
)
@click.option(
    "--w-epg",
    type=float,
    default=0.0,
    show_default=True,
    help="Weight of the expected poisoning gain.",
)
@click.option(
    "--published", is_flag=True, help="The paper's grid of p and its success rate of local hashing."
)
@options(
    MaximalGain,
    targets={
        "default": None,
        "help": "Number of values that fake users promote.  [default: 10, or k if smaller]",
    },
)
@as_json
def refine(
    family: str, k: int, epsilon: float, strategy: str, limit: float, w_asr: float, w_mse: float,
    w_epg: float, published: bool, share: float, targets: int | None, frequency: float,
    as_json: bool,
) -> int:  # fmt: skip
    """Choose the parameter of an adaptive protocol and compare it with the classical ones."""
    attack = MaximalGain(share, min(10, max(k, 1)) if targets is None else targets, frequency)
    law, grid = ("published", "published") if published else ("exact", None)
    weights = (w_asr, w_mse, w_epg)
    chosen = refinement.refine(
        family, k, epsilon, weights=weights, strategy=strategy, limit=limit, grid=grid, law=law,
        poisoning=attack,
    )  # fmt: skip
    adaptive = refinement.FAMILIES[family]
    name = adaptive.parameter
    rows: list[Row] = [
        {"mechanism": m.name, name: getattr(m, name, None)} | refinement.scores(m, law, attack)
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
        f" gain of {share:g} fake users on {attack.targets} targets."
    )
    if strategy == "hypervolume" and max(rows[0]["mse"], (w_epg > 0) * rows[0]["epg"]) >= 1:
        verdict += (
            " Some objective is always at least 1: every hypervolume is 0 and the front's first"
            " point was taken."
        )
    return write(
        given | {"weights": weights, **first, "classical": others},
        [("protocol", f"{name:<12}{'ASR':<12}{'MSE':<12}EPG"), *lines],
        verdict,
        as_json,
    )
