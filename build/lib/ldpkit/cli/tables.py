"""The commands ``ldpkit list``, ``rates``, ``bound`` and ``cache``, which make no report."""

import functools
import shutil
import sys
from typing import Annotated, Any

from .. import attacks, checks, jit, stats
from ..auditors.base import ALPHA, Alpha
from ..auditors.result import finite, titled
from ..mechanisms import GRADIENT, KEY_VALUE, MECHANISMS, takes
from ..reports.base import ROUTES, log_ratio
from ..stats import epsilon_buehler
from ..types import Pair, Word
from .frame import NUMBER, PARAMETERS, Name, Table, mechanism_of

_ROOMS = {
    "ldpkit.mechanisms": "--- mechanisms of the five papers: audit, audit-kv, audit-gradient ---",
    "ldpkit.beyond": "--- protocols that none of the five papers has: audit ---",
    "ldpkit.blackbox": "--- any other client: audit --client, --command or --recordings ---",
}
"""Headings of `list_mechanisms`, each with the package that it is about."""


def list_mechanisms() -> str:
    """List the mechanisms by family, one line each, after what they come from."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, mechanism in (MECHANISMS | KEY_VALUE | GRADIENT).items():
        # some names fix parameters of a class
        described = mechanism.func if isinstance(mechanism, functools.partial) else mechanism
        module = sys.modules[described.__module__]
        family = str(module.__doc__).partition(":")[0].partition("\n")[0].rstrip(".")
        first = " ".join(str(described.__doc__).partition("\n\n")[0].split())
        place = module.__name__.rpartition(".")[0], family
        found.setdefault(place, []).append(f"  {name:<12} {first}")
    lines = []
    for room, title in _ROOMS.items():
        lines.append(title)
        lines += [
            x for (own, family), names in found.items() if own == room for x in (family, *names)
        ]
    return "\n".join(lines)


def cache(clear: Annotated[bool, "Remove the machine code."] = False) -> str:
    """Print the size of the compiled machine code, which can be compiled again.

    The finished cells of `ldpkit sweep` are not changed.
    """
    used = jit.folder()
    if used is None:
        return "machine code: it is not kept"
    folder = used.parent  # of all versions
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    if clear and folder.exists():
        shutil.rmtree(folder)
    place = "removed from" if clear else "in"
    return f"machine code: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB {place} {folder}"


# --- nothing is drawn -----------------------------------------------------------------------------


def rates(
    mechanism: Name = None,
    attack: Annotated[str, f"One of {', '.join(attacks.ATTACKS)}."] = "guess",
    pair: Annotated[
        Pair | None,
        {"type": NUMBER, "nargs": 2},
        "The two inputs.  [default: those furthest apart]",
    ] = None,
    trials: Annotated[
        int, "Reports per input for which a threshold is chosen, if the event has one."
    ] = 10**6,
    **own: Annotated[Word, PARAMETERS],
) -> Table:
    """Print the exact rates of an attack's event, and the largest loss of any event.

    Nothing is drawn at random.
    """
    if mechanism is None:
        raise ValueError("give a --mechanism")
    delta = own.get("delta") or 0
    checks.need(
        not delta or takes(mechanism, "delta"),
        f"mechanism {mechanism} does not take delta, got {delta:g}",
    )
    target: Any = mechanism_of(mechanism, own)
    chosen = attacks.make(attack).choose(
        target, checks.integer("trials", trials, 1, 10**12), stats.tail_mass(0.01)
    )
    inputs, exact = target.pair(pair), chosen.rates(target, pair)
    checks.need(
        exact is not None,
        f"mechanism must have known rates of the attack {chosen.name}, got {target!r}: audit its"
        " reports",
    )
    row = {
        "mechanism": target.name,
        **target.parameters,
        "attack": chosen.name,
        "pair": list(inputs),
        "tpr": exact[0],
        "fpr": exact[1],
        "epsilon": log_ratio(*exact),
        "loss": target.report_type.loss(inputs),
        "claim": target.epsilon,
        "route": chosen.route(target),
    }
    lines = [
        ("mechanism", titled(target.name, target.parameters)),
        ("attack", f"{chosen.name}, {inputs[0]} against {inputs[1]}"),
        ("rates", f"tpr = {exact[0]:.10g}, fpr = {exact[1]:.10g}"),
        ("epsilon", f"{row['epsilon']:.10g} is ln(tpr / fpr)"),
        ("loss", f"{row['loss']:.10g} is the largest of any event, claimed {target.epsilon:g}"),
        ("route", ROUTES.get(row["route"], row["route"])),
    ]
    return Table({key: finite(x) for key, x in row.items()}, lines, "Exact: nothing was drawn.")


def bound(
    tp: Annotated[int, "Reports of the first input with the event."],
    fp: Annotated[int, "Reports of the second with the event."],
    n: Annotated[int, "Reports of each input."],
    alpha: Alpha = ALPHA,
    delta: Annotated[float, "Delta of the claim, in [0, 1)."] = 0.0,
) -> Table:
    """Bound epsilon by counts of your own, if event and n were chosen before the reports."""
    n, tail = checks.integer("n", n, 1), stats.tail_mass(alpha, "valid")
    lower = max(0.0, float(stats.epsilon_lower(tp, fp, n, delta, tail=tail)))
    low, high = stats.clopper_pearson(tp, n, tail)[0], stats.clopper_pearson(fp, n, tail)[1]
    # the choice of the bound does not depend on the counts
    able = n <= stats.MOST_TRIALS and alpha >= stats.LEAST_ALPHA
    sharper = epsilon_buehler(tp, fp, n, alpha, delta) if able else None
    level, best = stats.confidence(alpha, share=False), lower if sharper is None else sharper
    row = {"tp": tp, "fp": fp, "n": n, "alpha": alpha, "delta": delta, "tpr_low": float(low),
           "fpr_high": float(high), "lower": lower, "sharper": sharper}  # fmt: skip
    lines = [
        ("counts", f"{tp:,} and {fp:,} of {n:,}"),
        ("rates", f"first at least {low:.6g}, second at most {high:.6g}"),
        (
            "lower",
            f"{stats.down(lower, 6)} at level {level}, delta = {delta:g}, from two intervals",
        ),
    ]
    if sharper is not None:
        lines.append(
            ("sharper", f"{stats.down(sharper, 6)} at the same level, from both counts together")
        )
    verdict = f"With {stats.confidence(alpha)} confidence epsilon is at least {stats.down(best)}."
    return Table(row, lines, verdict)
