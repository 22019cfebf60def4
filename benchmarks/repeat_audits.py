"""Repeat stored audits of LDP-Auditor's released code, with that code and the same arguments.

Example::

    _build/reference/venv/bin/python benchmarks/repeat_audits.py STORED NEW --source ldp-audit

The program reads `data/reference/ldp_auditor.csv`, and writes its rows with the present results of
the released auditors, which are called unchanged. Their streams follow from the name of the
protocol, the seed and the number of workers. Therefore the same counts are expected. The exception
is the client of pure-ldp, which draws from a generator that nobody seeds. The program does not use
ldpkit. The first line of the output names the versions, as JSON.
"""

import argparse
import csv
import importlib.metadata
import json
import os
import platform
import sys
import time

VERSIONS = (
    "numpy",
    "numba",
    "scipy",
    "ray",
    "multi-freq-ldpy",
    "pure-ldp",
    "statsmodels",
    "xxhash",
)


def asked(row):
    """Return the released auditor of a row, its arguments, the settings of each audit, and the
    protocol.

    The settings are changed before each audit, as in the released scripts.
    """
    import ldp_audit

    made = {
        "nb_trials": int(row["trials"]),
        "alpha": float(row["alpha"]),
        "k": int(row["k"]),
        "n_jobs": int(row["cores"]),
    }
    each = {"random_state": int(row["seed"])}
    if row["mechanism"] == "LHO":
        return ldp_audit.LHOAuditor, made, each | {"g": int(row["g"])}, "LHO"
    made["delta"] = float(row["delta"] or 0)
    each["epsilon"] = float(row["epsilon"])
    if row["tau"]:
        made["tau"] = int(row["tau"])
        return ldp_audit.LongitudinalLDPAuditor, made, each, row["mechanism"]
    if row["d"]:
        made["d"], name = int(row["d"]), row["mechanism"].replace("RSFD", "RS+FD")
        return ldp_audit.MultidimensionalLDPAuditor, made, each, name
    name = f"{row['protocol']}_pure_ldp_pck" if row["protocol"] else row["mechanism"]
    return ldp_audit.LDPAuditor, made, each, name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stored")
    parser.add_argument("new")
    parser.add_argument("--source", required=True, help="folder of the released code")
    parser.add_argument(
        "--longest",
        type=float,
        default=float("inf"),
        help="repeat what took at most so many seconds when it was stored",
    )
    given = parser.parse_args()
    source = os.path.abspath(given.source)
    sys.path.insert(0, source)
    os.environ |= {"PYTHONPATH": source, "RAY_USAGE_STATS_ENABLED": "0"}  # of the workers
    with open(given.stored) as file:
        rows = [row for row in csv.DictReader(file) if float(row["seconds"]) <= given.longest]
    print(
        json.dumps(
            {"Python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in VERSIONS}
        ),
        flush=True,
    )
    with open(given.new, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        known = None
        for row in rows:
            kind, made, each, name = asked(row)
            if known != (kind, made):  # each auditor starts a scheduler of its own
                known, auditor = (kind, made), kind(**made)
            auditor.set_params(**each)
            start = time.perf_counter()
            found = float(auditor.run_audit(name))
            seconds = round(time.perf_counter() - start, 3)
            out.writerow(row | {"epsilon_emp": found, "seconds": seconds})
            file.flush()


if __name__ == "__main__":
    main()
