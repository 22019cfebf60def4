"""Hostile command lines, made of the options that the command line itself has: whatever is given,
the status is one of README's table, status 2 is one line, and nobody sees a traceback."""

import collections
import io
import json
import os
import random
import shutil
import sys
from pathlib import Path

import pyarrow
from pyarrow import parquet

from . import Ended, Tally, command_line, forked
from .faults import warm

LIMIT = 4  # seconds after which a line that is no error, but long, is interrupted
MEMORY = 8 * 2**30
MOST = 500 * 10**6  # bytes that a line may take which only reads what it is given
STATUSES = (0, 1, 2, 3, 4, 130)
BASES = """
audit --mechanism GRR --k 5 --epsilon 1 --trials 500
audit --mechanism OUE --k 10 --epsilon 1 --attack tight --trials 500 --json
audit --mechanism RSFD[GRR] --k 4 --d 3 --epsilon 1 --trials 200 --attack tight
audit --mechanism PM --epsilon 1 --attack tight --pair -1 0.5 --trials 200
audit --mechanism L-SUE --k 5 --epsilon 1 --epsilon-first 0.5 --trials 200
audit --client clients:report --report value --k 3 --epsilon 1 --trials 200
audit --client clients:bits --report bits --k 3 --epsilon 1 --trials 200 --attack tight --independent
audit --mechanism GRR --k 5 --epsilon 1 --attack tight --until-sure --trials 900 --save kept --html page
audit --client clients:any --report any --inputs [1,2] --epsilon 1 --attack learned --until-sure --trials 300
audit --recordings a.jsonl b.jsonl --report any --epsilon 1 --attack learned --until-sure
audit --recordings a.csv b.csv --report any --epsilon 1 --attack learned --until-sure
audit --recordings a.csv b.jsonl --report value --k 3 --epsilon 1 --attack tight --until-sure
audit --recordings a.parquet b.parquet --report any --epsilon 1 --attack learned --until-sure
audit --command cat --report any --inputs [1,2] --epsilon 1 --attack learned --until-sure --trials 40
rates --mechanism OUE --k 10 --epsilon 1 --attack tight
plan --mechanism OUE --k 10 --epsilon 1 --suspected 1.3
plan --tpr 0.5 --fpr 0.1 --epsilon 1
bound --tp 410 --fp 150 --n 1000 --alpha 0.01
resume kept.state --trials 900
refine --family ss --k 20 --epsilon 2
refine --family ue --k 10 --epsilon 1 --published --json
audit-kv --mechanism pckv-ue --epsilon 1.6 --users 500
audit-kv --mechanism privkv --epsilon 1 --users 500 --rounds 2
audit-gradient --adversary dummy --epsilon 4 --rule lune --trials 200
audit-shuffle --epsilon 2 --clients 50 --trials 200
rad --mechanism GRR --m 30 --epsilon 5
rad --mechanism GRR --m 30 --epsilon 5 --successes 460 --reports 9000
calibrate --risk 0.1 --mechanism laplace --m 10
sweep grid.yml --workers 1
sweep grid.yml --workers 1 --allow clients --out table.csv
cache
list
"""
VALUES = [
    "", " ", "0", "-0", "-1", "1", "2", "0.5", "1e400", "-1e400", "nan", "inf", "-inf", "1e-400",
    "1e-9", "9" * 400, "-" + "9" * 30, "1000000007", "1e18", "2147483648", "9223372036854775808",
    "0x10", "1_000", "1,5", "٣", "½", "²", "é", "💥", "a\nb", "\x1b[31m", "\t", "--", "-", "--help",
    "--json", "None", "null", "true", "[]", "[1]", "[1, 2]", "[[[[]]]]", "[" * 5000, "{}", "{", "'",
    '"', "\\", "%s", "%(x)s", "{0}", "$HOME", "`id`", "*", "x" * 5000, "folder", "missing",
    "missing/there", "empty", "torn.yml", "grid.yml", "kept.state", "a.jsonl", "a:b", ":", "os:_exit",
    "sys:exit", "clients", "clients:missing", "clients:boom", "clients:odd", "clients:gone",
    "clients:loud", "pipe", "hole.yml", "hole.csv", "hole.jsonl", "link", "twice.csv", "b.csv",
    "b.parquet", "x " * 50_000, "GRR", "grr", "OUE", "PM", "RSFD[GRR]", "RSFD[]", "SS", "tight", "guess", "learned",
    "value", "bits", "any", "\udcff",
]  # fmt: skip
CLIENTS = """
import os, sys
def report(values, rng): return values
def bits(values, rng):
    import numpy as np
    return np.eye(3, dtype=int)[values]
def any(value): return {"seen": value}
def boom(values, rng): raise ValueError("no\\nreport")
def odd(values, rng): return [object()] * len(values)
def gone(values, rng): os._exit(0)
def loud(values, rng):
    print("x" * 100_000)
    return values
"""
YAML = [
    "", "null", "[]", "- 1", "a: b", "grid", "{", "\t", "%YAML 9.9", "!!python/object:os.system {}",
    "&a [*a]", "[" * 3000, "{a: " * 2000, "? [1]: 2", "audit: audit\n" * 2, "\ufeffaudit: audit",
    "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
    "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]",
]  # fmt: skip
GRID = {"audit": "audit", "seed": 1, "grid": {"epsilon": [1, 2]},
        "fixed": {"mechanism": "GRR", "k": 3, "trials": 50}}  # fmt: skip
HARMS = [
    "", '"', "'", ",", "\n", "\r", "\0", "\udcff", "\ufeff", "[", "{", "}", "[" * 5000, "[" * 65 + "]" * 65,
    '{"a": 1, "a": 0}', '"a\nb"', "9" * 5000, "1e999", "NaN", "x" * 200_000, "x" * 2**21, "[]," * 300_000,
]  # fmt: skip
PLAIN = [None, "clients:report", "os:_exit", "", "x", "nan", True, -1, 0, 1.5, 10**30, float("inf"), [], [None], {}, {"a": {}},
         [[1]], "GRR", "kv", "../x", "folder", list(range(1001)), [1, 1], "💥", "a\nb"]  # fmt: skip


def _parquet(value: int) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"y": [value] * 30}), file)
    return file.getvalue()


RECORDED = {
    f"{name}.{kind}": text
    for name, value in (("a", 1), ("b", 0))
    for kind, text in (("jsonl", f"{value}\n".encode() * 30), ("csv", b"y\n" + f"{value}\n".encode() * 30),
                       ("parquet", _parquet(value)))
}  # fmt: skip


def grid(draw: random.Random) -> bytes:
    """A file that describes a sweep, or nothing of the kind."""
    if draw.random() < 0.3:
        return draw.choice(YAML).encode()
    if draw.random() < 0.1:
        return draw.randbytes(draw.randrange(1, 60))
    found = json.loads(json.dumps(GRID))
    for _ in range(draw.randrange(1, 3)):
        place = draw.choice([found, found.get("grid"), found.get("fixed")])
        if isinstance(place, dict):
            known = [*place, "out", "k", "seed", "epsilon", "runs", "pair", "attack", "💥", ""]
            place[draw.choice(known)] = draw.choice(PLAIN)
    return json.dumps(found).encode()


def recording(draw: random.Random, text: bytes) -> bytes:
    """A recording with a few harms done to it."""
    for _ in range(draw.randrange(3)):
        harm = draw.choice(HARMS).encode(errors="surrogateescape")
        at, more = draw.randrange(len(text) + 1), draw.choice([0, 0, 1, 4, 10**9])
        text = text[:at] + harm + text[at + more :]
    return text


def reading(words: list[str]) -> bool:
    """Whether a line does little but read files."""
    return words[:1] in (["sweep"], ["resume"]) or "--recordings" in words


def line(draw: random.Random, options: dict[str, list[str]]) -> list[str]:
    """A command line that works, with one or two harms done to it."""
    words = draw.choice(BASES.strip().splitlines()).split()
    known = options[words[0]]
    if reading(words) and draw.random() < 0.6:
        return words  # the files that it reads are harmed already
    for _ in range(draw.randrange(1, 3)):
        at, value = draw.randrange(len(words)), draw.choice(VALUES)
        harm = draw.randrange(6)
        if harm < 2 and known:  # another option, or this one again
            words += [draw.choice(known), *([value] if draw.random() < 0.8 else [])]
        elif harm < 4 and at:  # a value, or an option's name
            words[at] = value
        elif harm == 4 and at:
            del words[at]
        elif at:
            words.insert(at, value)
    return words


def prepared(folder: Path, draw: random.Random) -> None:
    """What the lines name, in a folder that they may spoil."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "folder").mkdir(parents=True)
    for name, text in (("clients.py", CLIENTS), ("empty", ""), ("torn.yml", '{"audit": "au'),
                       ):  # fmt: skip
        (folder / name).write_text(text)
    (folder / "grid.yml").write_bytes(grid(draw))
    for name, text in RECORDED.items():
        (folder / name).write_bytes(recording(draw, text) if name[0] == "a" else text)
    (folder / "twice.csv").write_text("y,y\n" + "1,0\n" * 30)
    for name in ("hole.yml", "hole.csv", "hole.jsonl"):
        (folder / name).touch()
        os.truncate(folder / name, 2**33)
    (folder / "link").symlink_to("hole.yml")
    os.mkfifo(folder / "pipe")


def problem(found: Ended, reads: bool = False) -> str:
    """What is wrong with how a line ended, or nothing; `reads` if it has little to do but that."""
    lines = found.err.splitlines()
    if "Traceback" in found.err or "Traceback" in found.out:
        return "a traceback"
    if found.left:
        return "it could not be interrupted, or left processes behind"
    if found.late and found.status not in STATUSES:
        return "it was interrupted and ended otherwise"
    if reads and found.memory > MOST:
        return f"it took {found.memory / 1e6:.0f} MB"
    if found.status not in STATUSES:
        return "no such status"
    if found.status == 2 and (found.out or len(lines) != 1 or not lines[0].startswith("ldpkit: ")):
        return "bad input is one line"
    if found.status == 1 and "violation" not in found.out.lower():
        return "status 1 without a violation"
    if found.status == 4 and not lines and "not valid" not in found.out.lower():
        return "a failure without a word"
    return ""


def run(seed: int, n: int, folder: Path, told: bool = False) -> list[dict[str, object]]:
    """Run `n` hostile command lines; `told`, print how many ended with which status."""
    from ldpbook import paths
    from ldpkit import cli, jit

    warm()
    # which `cache --clear` may clear
    paths.STORE, jit.CACHE = folder / "store", folder / "cache"
    os.environ |= {"LDPKIT_DATA_URL": "http://127.0.0.1:9", "LDPKIT_DATA": str(folder / "data"),
                   "OPENBLAS_NUM_THREADS": "1", "HOME": str(folder)}  # fmt: skip
    commands = cli.commands().commands
    options = {
        name: [flag for option in command.params for flag in option.opts if flag.startswith("--")]
        for name, command in commands.items()
    }
    tally, statuses = Tally("hostile command line", seed), collections.Counter[str]()
    place = folder / "here"
    kept = folder / "kept"
    prepared(kept, random.Random(0))
    keep = "audit --mechanism GRR --k 5 --epsilon 1 --attack tight --until-sure --save kept.state"
    forked(command_line(*keep.split(), "--trials", "500"), kept)
    audit, largest = (kept / "kept.state").read_bytes(), {True: 0, False: 0}
    files = 0
    for number in range(1, n + 1):
        draw = random.Random(f"{seed} {number}")
        prepared(place, draw)
        (place / "kept.state").write_bytes(recording(draw, audit))
        words = line(draw, options)
        # surrogates stand for bytes that are no UTF-8, as Python reads them from a shell
        found = forked(command_line(*words), place, LIMIT, MEMORY if sys.platform == "linux" else 0)
        statuses["interrupted after a while" if found.late else str(found.status)] += 1
        reads = reading(words)
        largest[reads], files = max(largest[reads], found.memory), files + reads
        bad = problem(found, reads)
        about = f"{bad}: {words!r}"[:600]
        about += f" gave {found.status}, {found.out[-100:]!r}, {found.err[-300:]!r}"
        verdict = "wrong" if bad else "noticed" if found.status in (2, 4) else "harmless"
        tally.add(verdict, number, about)
    if told:
        print("          " + ", ".join(f"{c} with {s}" for s, c in sorted(statuses.items())))
        print(f"          {files} read recordings, grids or kept audits, and took"
              f" {largest[True] / 1e6:.0f} MB at most; all others {largest[False] / 1e6:.0f} MB")  # fmt: skip
    return [tally.row()]
