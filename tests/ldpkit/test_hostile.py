"""Hostile use: every public callable and every command is given what it must refuse. One table: an
expression or a command line, and what its one error must say: parameter, range and value."""

import importlib
import math
import pkgutil
import warnings

import numpy as np
import pytest
from commands import refused

import ldpkit
from ldpkit import beyond, mechanisms
from ldpkit.cli import commands

PREFIX = {"attacks.base": "reading", "attacks.gradient": "crafts", "auditors.gradient": "gradients",
          "auditors.rad": "rad", "auditors.kv": "kv", "reports.base": "kind", "rng": "streams",
          "blackbox.sequential.result": "stopped"}  # fmt: skip


def spaces():
    """Modules by the last part of their name, but for those that share one."""
    found = {}
    for module in pkgutil.walk_packages(ldpkit.__path__, "ldpkit."):
        path = module.name.removeprefix("ldpkit.")
        if path.partition(".")[0] not in ("cli", "__main__"):
            name = PREFIX.get(path, path.rpartition(".")[2])
            found[name] = importlib.import_module(module.name)
    return found


MODULES = spaces()


def rng():
    return np.random.default_rng(1)


MASKED = np.ma.array([0, 1], mask=[False, True])
OWN = [*mechanisms.__all__, *beyond.__all__]
SPACE = {name: getattr(mechanisms, name) for name in OWN if name[0].isupper()}
SPACE["Client"] = ldpkit.Client
SPACE |= MODULES
SPACE |= {"np": np, "math": math, "nan": math.nan, "inf": math.inf, "rng": rng, "MASKED": MASKED}
SPACE |= {"grr": mechanisms.GRR(3, 1.0), "pairs": MODULES["crafts"].dummy(4)}
SPACE |= {"sets": mechanisms.KeyValues.of([[(0, 1.0)]], 2)}
NAMES = sorted(mechanisms.MECHANISMS)
NUMBERS = [name for name in mechanisms.MECHANISMS if not mechanisms.takes(name, "k")]
SIZED = [name for name in NAMES if name not in NUMBERS]

EPSILON = "epsilon must be a number in [1e-06, 30], got"
K = "k must be an integer in [2, 2147483647], got"
ALPHA = "alpha must be a number in [1e-100, 1), got"
UNIT, OPEN, HALF = (f"must be a number in {ends}, got" for ends in ("[0, 1]", "(0, 1)", "[0, 1)"))
POSITIVE = "must be a finite number > 0, got"
RNG = "rng must be a numpy.random.Generator, got"
ORACLE = "mechanism must be a frequency oracle, got"
ATTACK = f"attack must be one of {', '.join(ldpkit.attacks.ATTACKS)}, learned, got"
HERE = "tests/ldpkit/test_hostile.py"

HALL = [
    # checks: what all others call
    ("checks.integer('k', True, 2)", "k must be an integer >= 2, got True"),
    ("checks.integer('k', np.float64(3.5), 2)", "k must be an integer >= 2, got np.float64(3.5)"),
    ("checks.integer('k', '3', 2, 9)", "k must be an integer in [2, 9], got '3'"),
    ("checks.integer('k', None, 2)", "k must be an integer >= 2, got None"),
    ("checks.integer('k', np.array([3]), 2)", "k must be an integer >= 2, got array([3])"),
    ("checks.integer('k', np.int8(-3), 2)", "k must be an integer >= 2, got np.int8(-3)"),
    ("checks.real('x', 10**400)", "x must be a finite number, got 1000"),
    ("checks.real('x', -0.0, 0, 1, closed='()')", "x must be a number in (0, 1), got -0.0"),
    ("checks.real('x', np.bool_(True), 0)", "x must be a finite number >= 0, got np.True_"),
    ("checks.real('x', 1j, 0)", "x must be a finite number >= 0, got 1j"),
    ("checks.reals('x', [0.5, 2], 0, 1)", "x must be a number in [0, 1] everywhere, got 2.0"),
    ("checks.reals('x', [nan])", "x must be a finite number everywhere, got nan"),
    ("checks.reals('x', [[1], [1, 2]])", "x must be an array with rows of one length, got [[1], [1, 2]]"),
    ("checks.numeric('x', ['1'])", "x must be made of numbers, got <U1 of shape (1,)"),
    ("checks.numeric('x', None)", "x must be made of numbers, got object of shape ()"),
    ("checks.flag('faithful', 'no')", "faithful must be True or False, got 'no'"),
    ("checks.flag('faithful', 1)", "faithful must be True or False, got 1"),
    ("checks.one_of('law', 3, ['a', 'b'])", "law must be one of a, b, got 3"),
    ("checks.one_of('law', ['a'], ['a', 'b'])", "law must be one of a, b, got ['a']"),
    ("checks.instance('f', 3, str, 'a text')", "f must be a text, got 3"),
    ("checks.generator(7)", f"{RNG} 7"),
    ("checks.need(2 % 2, 'k must be odd, got 2')", "k must be odd, got 2"),
    ("checks.unmasked('x', MASKED)", "x must not be masked: choose the entries that count, got masked_array("),
    ("checks.values(MASKED, 3)", "values must not be masked: choose the entries that count, got masked_array("),
    ("checks.values([MASKED], 3)", "values must not be masked: choose the entries that count, got [masked_array("),
    ("checks.counts(MASKED, 2)", "counts must not be masked: choose"),
    ("checks.reals('x', MASKED)", "x must not be masked: choose"),
    ("stats.clopper_pearson(MASKED, 5, 0.1)", "count must not be masked: choose"),
    ("stats.significance(1e-300)", f"{ALPHA} 1e-300"),
    ("checks.values([0, 3], 3)", "values must lie in 0..2, got 3 at position 1"),
    ("checks.values([[0], [1, 2]], 3)", "values must be an array with rows of one length, got [[0], [1, 2]]"),
    ("checks.values([0.0], 3)", "values must be a one-dimensional array of integers, got shape (1,) of float64"),
    ("checks.values('ab', 3)", "values must be a one-dimensional array of integers, got shape () of <U2"),
    ("checks.counts([1, 2], 3)", "counts must be 3 integers, got shape (2,) of int64"),
    ("checks.counts([0, 0], 2)", "counts must be >= 0 and not all 0, got 0 at position 0"),
    # streams
    ("streams.sequence(-1)", "seed must be an integer >= 0, got -1"),
    ("streams.sequence(1, {1, 2})", "the name of a stream must be made of objects that JSON can write, got ({1, 2},)"),
    # stats
    ("stats.tail_mass(0.1, 'vald')", "tail convention must be one of published, valid, got 'vald'; did you mean 'valid'?"),
    ("stats.whole('tp', [3, -1], 5)", "tp must be whole numbers in [0, 5], got [3, -1]"),
    ("stats.clopper_pearson(6, 5, 0.1)", "count must be whole numbers in [0, 5], got 6"),
    ("stats.clopper_pearson(2, 5, 1)", "tail must be a number in [1e-120, 1), got 1"),
    ("stats.clopper_pearson(2, 0, 0.1)", "trials must be an integer >= 1, got 0"),
    ("stats.epsilon_lower(1, 0.5, 5, tail=0.1)", "fp must be whole numbers in [0, 5], got 0.5"),
    ("stats.epsilon_lower(1, 0, 5, -0.1, tail=0.1)", f"delta {HALF} -0.1"),
    ("betting.joint(0.6, 0.1, 1.0, share=0)", "share must be a number in (0, 1], got 0"),
    ("betting.linear(0.5, 1.0, 1.0)", "delta must be a number in [0, 1), got 1.0"),
    ("betting.linear_growth(1.5, 0, 1.0)", "p must be a number in [0, 1], got 1.5"),
    ("betting.joint_growth(0.5, nan, 1.0)", "q must be a number in [0, 1], got nan"),
    ("betting.soft([0.5, 1.5], 1.0, 1.0)", "likelihood must be a number in [0, 1] everywhere, got 1.5"),
    ("betting.soft(0.5, 2.0, 1.0)", "balance must be a number in (0, 2) everywhere, got 2.0"),
    ("stats.epsilon_buehler(6, 0, 5, 0.1)", "tp must be an integer in [0, 5], got 6"),
    ("stats.epsilon_buehler(1, 0.5, 5, 0.1)", "fp must be an integer in [0, 5], got 0.5"),
    ("stats.epsilon_buehler(1, 0, 5, 1)", "alpha must be a number in [1e-12, 1), got 1"),
    ("stats.epsilon_ceiling(True, tail=0.1)", "trials must be an integer >= 1, got True"),
    ("stats.binomial_window(-1, 0.5)", "n must be an integer >= 0, got -1"),
    ("stats.binomial_window(5, 1.5)", f"rate {UNIT} 1.5"),
    ("stats.binomial_window(5, 0.5, 0)", f"width {POSITIVE} 0"),
    ("stats.expected_epsilon(nan, 0.1, 5, tail=0.1)", f"tpr {UNIT} nan"),
    ("stats.expected_epsilon(0.1, 2, 5, tail=0.1)", f"fpr {UNIT} 2"),
    ("stats.expected_epsilon(0.1, 0.1, 5, 1, tail=0.1)", f"delta {HALF} 1"),
    ("stats.expected_epsilon(0.1, 0.1, '5', tail=0.1)", "trials must be an integer >= 1, got '5'"),
    # sweep
    ("grid.grid(3, {'a': [1]}, seed=1)", "func must be callable, got 3"),
    ("grid.grid(dict, 3, seed=1)", "grid must be a mapping from parameters to values, or a list of cells, got 3"),
    ("grid.grid(dict, [3], seed=1)", "a cell of grid must be a mapping, got 3"),
    ("grid.grid(dict, {'a': [1]}, seed=-1)", "seed must be an integer >= 0, got -1"),
    ("grid.grid(dict, {'a': [1]}, seed=1, workers=0)", "workers must be an integer >= 1, got 0"),
    ("grid.combinations({'a': [object]})", "must be plain numbers, strings, lists or dictionaries, got type"),
    ("executors.isolated('no/such/folder')", "no/such/folder does not exist"),
]  # fmt: skip

CLIENTS = [
    # the constructors of all frequency mechanisms take k and epsilon through the same door
    *((f"made('{name}', k=True)", f"{K} True") for name in (
        "GRR SS FloorSS SUE OUE BLH OLH SHE THE ASS AUE ALH ATHE AGRR ASUE ABLH AOLH GM AGM FaultyUE dBitFlipPM L-SUE").split()),
    *((f"{name}(3, nan)", f"{EPSILON} nan") for name in ("GRR", "SS", "SUE", "OUE", "SHE", "THE", "BLH", "FaultyUE")),
    ("OLH(3, 23)", "epsilon must be a number in [1e-06, 22], got 23"),
    ("LHO(3, 1)", "g must be an integer in [2, 4294967296], got 1"),
    ("ASS(3, 1.0, 3)", "omega must be an integer in [1, 2], got 3"),
    ("AUE(3, 1.0, nan)", f"p {OPEN} nan"),
    ("ATHE(3, 1.0, -0.1)", f"theta {UNIT} -0.1"),
    ("AGRR(3, 1.0, 0)", f"delta {OPEN} 0"),
    ("AOLH(3, 0.5, 0.3).g", "delta must be smaller for AOLH at epsilon = 0.5, got 0.3"),
    ("FaultyUE(3, 1.0, 'GRR')", "protocol must be one of SUE, OUE, got 'GRR'"),
    ("Repeated(3, 2)", f"{ORACLE} 3"),
    ("Repeated(grr, 0)", "tau must be an integer in [1, 1000000], got 0"),
    ("Repeated(grr, 2, 'no')", "memoise must be True or False, got 'no'"),
    ("Chained(3, 1.0, 1.0)", "first must be a number in [1e-06, 1), got 1.0"),
    ("Chained(3, 1.0, 0.5, 1, 'UE')", "protocol must be one of SUE, OSUE, OUE, GRR, got 'UE'"),
    ("BucketFlip(6, 1.0, 4, 1)", "buckets must divide k = 6, got 4"),
    ("BucketFlip(6, 1.0, 3, 4)", "bits must be an integer in [1, 3], got 4"),
    ("RSFD(3, 1, 1.0)", "d must be an integer >= 2, got 1"),
    ("RSFD((3, 4), 3, 1.0)", "k must be one integer or 3 integers, one per attribute, got 2"),
    ("RSFD((3, 1), 2, 1.0)", f"{K} 1"),
    ("RSFD(3, 2, 1.0, 'OUE')", "base must be one of GRR, SUE-z, SUE-r, OUE-z, OUE-r, got 'OUE'"),
    ("mechanisms.make('OEU', k=3, epsilon=1.0)", "got 'OEU'; did you mean 'OUE'?"),
    ("mechanisms.make('GRR', k=3)", "mechanism GRR needs epsilon; its parameters are k, epsilon"),
    ("mechanisms.takes('grr', 'k')", "got 'grr'; did you mean 'GRR'?"),
    # verbs: perturb, estimate, variance
    *((f"made('{name}').perturb([0, 9], rng())", "values must lie in 0..5, got 9 at position 1")
      for name in SIZED if name[:4] != "RSFD"),
    ("PM(1.0).perturb([0, 9], rng())", "values must be a number in [-1, 1] everywhere, got 9"),
    ("PM(1.0).perturb([[0.5]], rng())", "values must be a one-dimensional array of numbers in [-1, 1], got shape (1, 1)"),
    ("PM(1.0).pair((0.5, 2))", "pair must be a number in [-1, 1], got 2"),
    *((f"{name}(1.0).variance(5, nan)", "value must be a number in [-1, 1] everywhere, got nan") for name in ("PM", "Duchi", "Hybrid")),
    ("SW(1.0).pair((0.5, 0.5))", "pair must hold two different numbers in [0, 1], got (0.5, 0.5)"),
    ("SW(1.0).read([1.5])", "reports of SW must be a number in [-0.256083, 1.25608] everywhere, got 1.5"),
    ("Duchi(1.0).read([0.5])", "reports of Duchi must be -2.163953413738653 or 2.163953413738653, got 0.5"),
    ("Hybrid(1.0).read([5.0])", "reports of Hybrid must be a number in [-4.08299, 4.08299] everywhere, got 5.0"),
    ("CMS(10, 1.0, 1)", "m must be an integer in [2, 65536], got 1"),
    ("CMS(3, 1.0).read(np.zeros(2, CMS(3, 1.0).report_type.form))", "reports of CMS must hold signs 1 and -1, got 0"),
    ("HCMS(10, 1.0, 12)", "m must be a power of two, got 12"),
    ("HCMS(2**20, 1.0, 4, 2**10)", "k times hashes must be at most 2^28, got 1048576 times 1024"),
    ("HCMS(3, 1.0).read(np.zeros(2))", "reports of HCMS must have shape (n) with n >= 1 and type"),
    ("RAPPOR(3, 1.0, 1)", "m must be an integer in [2, 65536], got 1"),
    ("RAPPOR(3, 1.0, 8, 17)", "h must be an integer in [1, 16], got 17"),
    ("RAPPOR(3, 1.0, 8, 2, 0)", "cohorts must be an integer in [1, 65536], got 0"),
    ("RAPPOR(3, 1.0, keep=0.5, flip=0.5)", "keep must exceed flip = 0.5 by at least 0.001, got 0.5"),
    ("RAPPOR(3, 1.0, keep=1.5)", f"keep {UNIT} 1.5"),
    ("RAPPOR(3, 1.0, flip=-1)", f"flip {UNIT} -1"),
    ("RAPPOR(3, 1.0, tau=0)", "tau must be an integer in [1, 1000000], got 0"),
    ("RAPPOR(3, 1.0, m=128, tau=10**6)", "tau times m must be at most 2^24, got 1000000 times 128"),
    ("RAPPOR(3, 1.0, 2, tau=3).read(RAPPOR(3, 1.0, 2).perturb(np.zeros(2, int), np.random.default_rng(1)))", "reports of RAPPOR must have shape (n) with n >= 1 and type"),
    ("RAPPOR(3, 1.0, 2, tau=1).read(np.array([(64, [[0, 1]])], RAPPOR(3, 1.0, 2, tau=1).report_type.form))", "cohort of RAPPOR must lie in 0..63, got 64"),
    ("RAPPOR(3, 1.0, 2, tau=1).read(np.array([(0, [[0, 2]])], RAPPOR(3, 1.0, 2, tau=1).report_type.form))", "bits of RAPPOR must lie in 0..1, got 2"),
    ("RAPPOR(2**20, 1.0, 8, 2, 2**10)", "k times cohorts times h must be at most 2^28, got 1048576 times 1024 times 2"),
    ("RAPPOR(3, 1.0, 2).read(np.array([(64, [0, 1])], RAPPOR(3, 1.0, 2).report_type.form))", "cohort of RAPPOR must lie in 0..63, got 64"),
    ("RAPPOR(3, 1.0, 2).read(np.array([(0, [0, 2])], RAPPOR(3, 1.0, 2).report_type.form))", "bits of RAPPOR must lie in 0..1, got 2"),
    ("attacks.reconstruct.finite_distribution(RAPPOR(3, 1.0))", "mechanism must have at most 65,536 reports that can be listed, got RAPPOR with k = 3"),
    ("RAPPOR(3, 1.0).report_type.reports.any()", "an alphabet of 2^128 outputs is too large to enumerate"),
    ("FLH(5, 1.0, 3, 0)", "seeds must be an integer in [1, 4294967296], got 0"),
    ("FLH(5, 1.0, 3, None, 'murmur')", "family must be one of xxhash32, carter-wegman, got 'murmur'"),
    ("FLH(5, 1.0, 3, 9).read(np.array([(9, 0)], [('seed', '<u8'), ('cell', '<i8')]))", "seed of FLH must lie in 0..8, got 9"),
    ("DiscreteLaplace(1.0, 0)", "sensitivity must be an integer in [1, 1048576], got 0"),
    ("DiscreteLaplace(1.0, 3).perturb([0, 9], rng())", "values must lie in 0..3, got 9 at position 1"),
    ("DiscreteLaplace(1.0, 3).variance(5, nan)", "value must be a number in [0, 3] everywhere, got nan"),
    ("DiscreteLaplace(1.0).pair((0, 2))", "pair must be an integer in [0, 1], got 2"),
    ("DiscreteLaplace(1.0).read([0.5])", "reports of DiscreteLaplace must be integers in [-2^62, 2^62], got float64 up to 0.5"),
    ("DiscreteGaussian(0.1)", "sigma must be a number in [0.125, 65536], got 0.1"),
    ("DiscreteGaussian(1.0, 9)", "sensitivity must be an integer in [1, 8], got 9"),
    ("DiscreteGaussian(1.0, 1, 1e-300)", "delta must be a number in [1e-290, 1), got 1e-300"),
    ("DiscreteGaussian(1.0).curve(-1)", "epsilon must be a finite number >= 0, got -1"),
    ("HM(4, 1.0, 17)", "t must be an integer in [1, 16], got 17"),
    ("HM(4, 1.0, 2).read(np.array([([0, 4], 0)], HM(4, 1.0, 2).report_type.form))", "indices of HM must lie in 0..3, got 4"),
    ("HM(4, 1.0, 2).read(np.array([([0, 3], 4)], HM(4, 1.0, 2).report_type.form))", "signs of HM must lie in 0..3, got 4"),
    *((f"made('{name}').perturb([[0, 0]], 1)", f"{RNG} 1") for name in NAMES if name[:4] == "RSFD"),
    *((f"made('{name}').perturb([0], 1)", f"{RNG} 1") for name in NAMES if name[:4] != "RSFD"),
    *((f"made('{name}').variance(0)", "n must be an integer >= 1, got 0") for name in NAMES),
    *((f"made('{name}').variance(5, nan)", "frequency must be a number in [0, 1] everywhere, got nan") for name in SIZED),
    *((f"made('{name}').{verb}", "reports of ") for name in NAMES for verb in ("estimate([])", "estimate('junk')", "read([])")),
    *((f"attacks.Guess().predict(made('{name}'), 'junk', rng())", "reports of ") for name in SIZED),
    ("attacks.Guess().predict(PM(1.0), [0.5], rng())", "attack guess cannot read the number reports of PM: audit it with attack tight"),
    *((f"attacks.TwoValueTest(0.0).accepts(made('{name}'), 7, (0, 1))", "reports of ") for name in NAMES),
    ("grr.perturb([0.5], rng())", "values must be a one-dimensional array of integers, got shape (1,) of float64"),
    ("grr.perturb(MASKED, rng())", "values must not be masked: choose"),
    ("RSFD(2, 2, 1.0).perturb(np.ma.array([[0, 1]]), rng())", "values must not be masked: choose"),
    *((f"{m}(2, 1.0).estimate(np.ma.array([[0, 1]]))", "must not be masked: choose") for m in ("GRR", "OUE", "SHE", "SS", "OLH",
      "PCKVUE", "PCKVGRR", "CPPUE", "PrivKV")),
    ("grr.sample_estimate(MASKED, rng())", "counts must not be masked: choose"),
    ("grr.estimate([3])", "reports must lie in 0..2, got 3 at position 0"),
    ("OUE(3, 1.0).estimate([[0, 1, 2]])", "reports of OUE must hold only 0 and 1, got 2"),
    ("SHE(3, 1.0).estimate([[0, 1, nan]])", "reports of SHE must be finite, got nan"),
    ("SS(6, 0.5).estimate([[0, 6]])", "reports must lie in 0..5, got 6 at position 1"),
    ("RSFD(3, 2, 1.0).perturb([0, 1], rng())", "values must have shape (n, 2), got (2,)"),
    ("RSFD(3, 2, 1.0).perturb([[0, 3]], rng())", "values must lie in 0..2, got 3 at position 0"),
    ("Repeated(grr, 2).estimate([np.array([0])])", "reports of GRR must have 2 rounds, got 1"),
    ("Repeated(grr, 2).estimate([[0, 1], [0]])", "reports of GRR must come from the same users in all rounds, got 1 and 2"),
    ("RSFD(3, 2, 1.0).estimate([[0, 1], [0]])", "reports of RSFD[GRR] must come from the same users in all components"),
    ("OLH(3, 1.0).read(np.array([(1, 9)], reports.HASH_REPORT))", "cell of OLH must lie in 0..3, got 9 at position 0"),
    ("BucketFlip(4, 1.0, 2, 1).read([[0, 1]])", "reports of dBitFlipPM must each hold 1 bits, and -1 in all other buckets"),
    ("grr.sample_estimate([1, 2], rng())", "counts must be 3 integers, got shape (2,) of int64"),
    ("SHE(3, 1.0).sample_estimate([1, 2, 1], 1)", f"{RNG} 1"),
    ("SHE(3, 1.0, 1e-6)", "grid must be a power of two in [2^-20, 2^-10], got 1e-06"),
    ("AGM(3, 1.0, 1e-5, 0.25)", "grid must be a number in [9.53674e-07, 0.000976562], got 0.25"),
    ("SHE(3, 1.0, 2.0**-10).estimate([[0, 1, 0.3]])", "reports of SHE must be whole multiples of 0.000976562, got 0.3"),
    ("histogram.residue(2.0**-20, -1, 1.0)", "epsilon must be a number in [0, 700], got -1"),
    ("histogram.residue(2.0**-20, 1, 0.1)", "scale must be a finite number >= 0.5, got 0.1"),
    ("gradients.GradientAudit(PrivUnitG(4, 1.0, grid=2.0**-20), crafts.dummy(4))", "faithful must be True for a mechanism with a grid"),
    ("histogram.gaussian_delta(-1, 1.0)", "epsilon must be a finite number >= 0, got -1"),
    ("histogram.gaussian_delta(1.0, 0)", f"sigma {POSITIVE} 0"),
    # key-value
    ("KeyValues(np.array([0, 1]), np.array([2]), np.array([0.5]), 2)", "keys must lie in 0..1, got 2 at position 0"),
    ("KeyValues(np.array([0, 1]), np.array([1]), np.array([-1.5]), 2)", "values must be a number in [-1, 1] everywhere, got -1.5"),
    ("KeyValues(np.array([1, 0]), np.array([1]), np.array([1.0]), 2)", "indptr must rise from 0 to the number of pairs, 1, got"),
    ("KeyValues.of([[(0, 1), (0, 1)]], 2)", "keys of one user must differ, got key 0 twice for user 0"),
    ("KeyValues.of([[(0,)]], 2)", "users must be lists of pairs (key, value), got [[(0,)]]"),
    ("KeyValues.of([[('a', 1)]], 2)", "keys must be a one-dimensional array of integers, got shape (1,) of <U1"),
    ("KeyValues.of([[(0, 'a')]], 2)", "values must be made of numbers, got <U1 of shape (1,)"),
    ("kind.chosen([0, 0], 3)", "positions must differ, got [0, 0]"),
    ("kind.chosen([3], 3)", "positions must be an integer in [0, 2], got 3"),
    ("kind.chosen(1, 3)", "positions must be a list of positions, got 1"),
    ("kind.alphabet(3, 15, 'take fewer')", "an alphabet of 3^15 = 14348907 outputs is too large to enumerate (at most 1048576, a length of"),
    ("correlated.bit_vectors(-1)", "length must be an integer >= 0, got -1"),
    ("correlated.bit_vectors(21)", "an alphabet of 2^21 = 2097152 outputs is too large to enumerate (at most 1048576, a length of"),
    ("PCKVGRR(2, 1.0, padding=0)", "padding must be an integer in [1, 2147483647], got 0"),
    ("PCKVGRR(2, 1.0, share=0)", "share must be a number in (0, 1], got 0"),
    ("PCKVUE(2, 1.0, eta='ceil')", "eta must be one of correct, floor, got 'ceil'"),
    ("CPPUE(1, 1.0, 3)", "buckets must be an even number of boundary points, two per bucket, got 3"),
    ("CPPGRR(1, 1.0, 66)", "buckets must be an integer in [2, 64], got 66"),
    ("CPPGRR(1, 1.0, rounds=0)", "rounds must be an integer in [1, 1000000], got 0"),
    ("PrivKV(1, -1.0)", f"{EPSILON} -1.0"),
    *((f"{name}(2, 1.0).perturb([0], rng())", "needs KeyValues over k = 2 keys, got [0]") for name in ("PCKVUE", "PCKVGRR", "CPPUE", "PrivKV")),
    *((f"{name}(2, 1.0).perturb(sets, 3)", f"{RNG} 3") for name in ("PCKVUE", "PCKVGRR", "CPPGRR", "PrivKV")),
    *((f"{name}(2, 1.0).variance(9, -1)", "frequency must be a number in [0, 1] everywhere, got -1") for name in ("PCKVUE", "CPPUE")),
    *((f"{name}(2, 1.0).estimate([9])", "reports of ") for name in ("PCKVUE", "PCKVGRR", "CPPUE", "PrivKV")),
    ("PCKVUE(2, 1.0).mean_variance(5, 0, 0)", "frequency must be a number in (0, 1] everywhere, got 0"),
    ("PCKVUE(2, 1.0).mean_variance(5, 0.5, 2)", "mean must be a number in [-1, 1] everywhere, got 2"),
    ("PCKVGRR(2, 1.0).distribution([(0, 1.0)], [0])", "positions must be left out: a report of PCKV-GRR is one key and one sign, got [0]"),
    ("CPPUE(1, 1.0).place(['a'])", "values must be made of numbers, got <U1 of shape (1,)"),
    ("CPPUE(1, 1.0).distribution([], [[2.0, 0.0]])", "means must be a number in [-1, 1] everywhere, got 2.0"),
    # gradients
    ("gradient.mean_axis(1)", "d must be an integer >= 2, got 1"),
    ("LDPSGD(1, 1.0)", "d must be an integer in [2, 2147483647], got 1"),
    ("LDPSGD(3, 1.0, 0)", f"clip {POSITIVE} 0"),
    ("PrivUnit(3, nan)", f"{EPSILON} nan"),
    ("PrivUnit(3, 1.0, gamma=1)", f"gamma {HALF} 1"),
    ("PrivUnitG(3, 1.0, gamma=50)", "gamma must leave the cap a probability of at least 1e-300, got 50"),
    ("LDPSGD(3, 1.0).perturb(np.zeros((2, 4)), rng())", "gradients must have shape (n, 3) with n >= 1, got (2, 4)"),
    ("LDPSGD(3, 1.0).perturb([['a', 'b', 'c']], rng())", "gradients must be made of numbers, got <U1 of shape (1, 3)"),
    ("LDPSGD(3, 1.0).perturb([[nan, 0, 0]], rng())", "gradients must be finite, got a norm of nan"),
    ("LDPSGD(3, 1.0).perturb(np.zeros((2, 3)), 0)", f"{RNG} 0"),
    ("LDPSGD(3, 1.0).estimate(np.zeros((0, 3)))", "reports must have shape (n, 3) with n >= 1, got (0, 3)"),
    ("LDPSGD(3, 1.0).variance(5, -1)", "norm must be a finite number >= 0, got -1"),
    ("LDPSGD(3, 1.0).overlap(4)", "theta must be a number in [0, 3.14159] everywhere, got 4"),
    # clients
    ("digests.load(3)", "client must be given as module:function, got 3"),
    ("digests.load('mine.py:f')", "not by a path, got 'mine.py:f': for f in the file mine.py of this folder, mine:f"),
    ("digests.load('no_such_module:f')", "client 'no_such_module:f' cannot be imported: ModuleNotFoundError"),
    ("client.Client.imported('math:sqrt', reprot='value')",
     "parameter of a client must be one of k, report, epsilon, delta, values, on_error, ignore, time, got 'reprot'; did you mean 'report'?"),
    ("digests.load('math:pi')", "client 'math:pi' is not callable but a float"),
    ("anything.Anything(3).read('ab', 'c')", "c must return a list of reports, got 'ab'"),
    ("Client(3, 3, 'value', 1.0)", "client must be callable, got 3"),
    ("Client(dict, 10**30, 'value', 1.0)", f"{K} 1000000000000000000000000000000"),
    ("Client(dict, 3, 'value', inf)", "epsilon must be a finite number >= 0, got inf"),
    ("Client(dict, 3, 'value', -1e-9)", "epsilon must be a finite number >= 0, got -1e-09"),
    ("Client(dict, 3, 'values', 1.0)", "report must be one of value, bits, subset, any, got 'values'; did you mean 'value'?"),
    ("Client(dict, 3, 'value', 1.0, -0.1)", f"delta {HALF} -0.1"),
    ("Client(lambda v, rng: v / 0, 3, 'value', 1.0).perturb([1], rng())", "client raised RuntimeWarning"),
    *((f"Client(lambda v, rng: np.ma.array({rows}, mask=True), 3, '{kind}', 1.0).perturb([1], rng())",
       "client must return reports without a mask, got masked ones")
      for kind, rows in (("value", "v"), ("bits", "[[0, 1, 0]]"), ("subset", "[[0]]"))),
    ("attacks.Guess().accepts(Client(dict, 3, 'value', 1.0), MASKED, (0, 1), rng())", "reports must not be masked: choose"),
]  # fmt: skip

BOUND = "kappa=0.5, kappa_plus=0.5, kappa_minus"
ATTACKERS = [
    ("attacks.make('gues')", f"{ATTACK} 'gues'; did you mean 'guess'?"),
    ("attacks.TwoValueTest('a')", "threshold must be a finite number, got 'a'"),
    ("attacks.TwoValueTest().rates(AGM(3, 1.0, 0.1))", "threshold must be a finite number, got None"),
    ("attacks.TwoValueTest().rates(3)", "mechanism must be a mechanism whose reports can be read, or a Client, got 3"),
    ("reading.success_rate(Repeated(SS(6, 0.5), 2))", "mechanism must have a known success rate of the guess, got Repeated("),
    ("attacks.Guess().sample(grr, -1, True, rng())", "trials must be an integer >= 0, got -1"),
    ("attacks.Guess().sample(grr, 5, True, 1)", f"{RNG} 1"),
    ("attacks.Guess().predict(grr, [0], None)", f"{RNG} None"),
    ("attacks.Guess().accepts(grr, [0.5], (0, 1), rng())", "reports must be a one-dimensional array of integers, got shape (1,)"),
    ("attacks.TwoValueTest().accepts(grr, [0], (1, 1))", "pair must hold two different values, got (1, 1)"),
    ("attacks.TwoValueTest().accepts(BucketFlip(4, 1.0, 2, 1), [[0, -1]], (0, 1))", "pair must lie in two different buckets of 2"),
    ("attacks.MaximalGain(targets=0)", "targets must be an integer >= 1, got 0"),
    ("attacks.MaximalGain(frequency=nan)", f"frequency {UNIT} nan"),
    ("attacks.MaximalGain(targets=5).expected(grr)", "targets must be an integer in [1, 3], got 5"),
    ("attacks.MaximalGain(targets=2).craft(grr, 0, rng())", "count must be an integer >= 1, got 0"),
    ("attacks.MaximalGain(targets=2).craft(grr, 5, 1)", f"{RNG} 1"),
    ("reconstruct.laplace_sum_exact([0.5, 0.5], -1, 1.0)", "eta must be an integer >= 0, got -1"),
    ("reconstruct.laplace_sum_exact([0.5, 0.6], 0, 1.0)", "prior must sum to 1, got 1.1"),
    ("reconstruct.laplace_sum_exact([0.5, 0.5], 0, 1.0, maximise='all')", "maximise must be one of rad, rero, got 'all'"),
    ("guess_success.laplace_success(0, 3)", f"scale {POSITIVE} 0"),
    ("guess_success.laplace_success(1.0, 1)", "k must be an integer >= 2, got 1"),
    ("guess_success.gaussian_success('1', 3)", f"sigma {POSITIVE} '1'"),
    ("guess_success.gaussian_success(1.0, 3, grid=-1)", "grid must be a finite number >= 0, got -1"),
    ("guess_success.grid_success(1.0, 3, 2.0**-25)", "grid must be a number in [5.96046e-08, 1], got 2.9"),
    ("guess_success.rounded_tails(nan, 1.0, 0.5)", "threshold must be a finite number, got nan"),
    ("guess_success.rounded_tails(1.0, 1.0, 0)", f"grid {POSITIVE} 0"),
    ("guess_success.support_success(nan, 0.5, 3)", "p must be a number in [0, 1] everywhere, got nan"),
    ("guess_success.support_success(0.5, 1, 3)", "q must be a number in [0, 1) everywhere, got 1"),
    ("guess_success.mean_reciprocal(-1, 0.5)", "n must be a finite number >= 0 everywhere, got -1"),
    ("guess_success.count_wins([0.5, 0.6], 3)", "mass must sum to 1, got 1.1"),
    ("guess_success.count_wins([0.5, 0.5], 1)", "k must be an integer >= 2, got 1"),
    ("guess_success.response_wins(1, 3)", "k must be an integer >= 2, got 1"),
    ("guess_success.response_wins(3, 0)", "tau must be an integer >= 1, got 0"),
    ("guess_success.laplace_sum(0)", "tau must be an integer >= 1, got 0"),
    ("guess_success.laplace_sum_success(2, 3, -1)", "shift must be a finite number >= 0, got -1"),
    # gradients
    ("crafts.Pairs('p', [[1.0]], [[1.0, 2.0]])", "first and second must have one shape (pairs, d), got (1, 1) and (1, 2)"),
    ("crafts.Pairs('p', [['a']], [['b']])", "first must be made of numbers, got <U1 of shape (1, 1)"),
    ("crafts.Pairs('p', [[nan, 1.0]], [[1.0, 2.0]])", "gradients must be finite, got NaN or infinite entries"),
    ("crafts.Pairs('p', [[0.0, 0.0]], [[0.0, 0.0]])", "gradients must not both be zero"),
    ("crafts.Cosine().accepts(grr, [], (), rng())", "mechanism must be a gradient mechanism, got GRR("),
    ("crafts.Cosine().accepts(LDPSGD(3, 1.0), [[0, 0, nan]], ([[0, 0, 1]], [[1, 0, 0]]), rng())",
     "reports and pair must be finite, got a product of nan"),
    ("crafts.Cosine().accepts(LDPSGD(2, 1.0), [[0, 1]], [[[0, 1]]], rng())", "pair must hold two gradients for each of 1 reports"),
    ("crafts.Cosine().accepts(LDPSGD(2, 1.0), [[0, 1]], 3, rng())", "pair must be two arrays of gradients, got 3"),
    ("crafts.Cosine().accepts(LDPSGD(2, 1.0), [[0, 1]], ([['a', 'b']], [[0, 1]]), rng())", "pair must be made of numbers, got"),
    ("crafts.Cosine().sample(LDPSGD(2, 1.0), -1, crafts.dummy(2), True, rng())", "trials must be an integer >= 0, got -1"),
    ("crafts.Cosine().sample(LDPSGD(2, 1.0), 5, crafts.dummy(2), True, 1)", f"{RNG} 1"),
    ("crafts.dummy(1)", "d must be an integer >= 2, got 1"),
    ("crafts.dummy(3, 0)", f"norm {POSITIVE} 0"),
    ("pairs.shape(0)", f"clip {POSITIVE} 0"),
    # reconstruction
    ("reconstruct.kappa([0.5, nan])", "prior must be a list of at least two finite numbers, got"),
    ("reconstruct.kappa([1.0])", "prior must be a list of at least two finite numbers, got shape (1,)"),
    ("reconstruct.kappa([1.5, -0.5])", "prior must have no negative mass, got -0.5 at record 1"),
    ("reconstruct.kappa(['a', 'b'])", "prior must be made of numbers, got <U1 of shape (2,)"),
    ("reconstruct.kappa([0.5, 0.5], [[1, 2], [0, 1]])", "success must be a matrix of 0 and 1 of shape (2, 2), got"),
    ("reconstruct.rad_exact([[0.5, 0.6], [0.5, 0.5]], [0.5, 0.5])", "likelihood must have 2 rows of probabilities that sum to 1"),
    ("reconstruct.rad_exact('ab', [0.5, 0.5])", "likelihood must be made of numbers, got <U2 of shape ()"),
    ("reconstruct.rad_exact(np.eye(2), [0.5, 0.5], side=[1])", "side must hold one label for each of the 2 records, got shape (1,)"),
    ("reconstruct.optimal_attack(np.eye(2), [0.5, 0.5], maximise='rads')", "maximise must be one of rad, rero, got 'rads'"),
    ("reconstruct.attack_value(np.ones((1, 2, 2)), np.eye(2), [0.5, 0.5])", "attack must hold probabilities of shape (1, 2, 2), got"),
]  # fmt: skip

RISK = "risk must be a number in (0, 0.5), got"
AUDITORS = [
    ("suite.check_mechanism(3)", "mechanism must be a mechanism whose reports can be read, or a Client, got 3"),
    ("suite.check_mechanism(grr, expected_failures={'bugdet': ''})", "expected_failures must be one of value, "),
    *((f"{name}(3{more})", "mechanism must be a mechanism whose reports can be read, or a Client, got 3") for name, more in (
        ("api.audit", ""), ("auditors.audits", ", ['guess']"), ("auditors.expected", ""))),
    ("auditors.audits(grr, 'guess')", "attack must be a list of attacks, got 'guess'"),
    ("auditors.audits(grr, [])", "attack must name at least one attack, got []"),
    ("api.audit(grr, trials=0)", "trials must be an integer in [1, 1000000000000], got 0"),
    ("api.audit(grr, both=1)", "both must be True or False, got 1"),
    ("auditors.audits(grr, ['guess'], questions=0)", "questions must be an integer >= 1, got 0"),
    ("api.audit(grr, threads=0)", "threads must be an integer >= 1, got 0"),
    ("api.audit(RSFD((2, 3), 2, 1.0), 'tight')", "k must be the same for all attributes in the tight test, got k = (2, 3)"),
    ("auditors.Audit.cell(mechanism=grr, runs=0)", "runs must be an integer >= 1, got 0"),
    ("auditors.Audit(OUE(10**9, 1.0), faithful=True)", "real reports must have at most 67,108,864 coordinates, got 1,000,000,000 of OUE"),
    ("auditors.Audit(grr, 'learned')", "attack learned needs until='sure'"),
    ("auditors.Audit(Client(dict, 3, 'value', 1.0))", "independent must be True to count the reports of client"),
    ("auditors.Audit(grr, independent=1)", "independent must be True or False, got 1"),
    ("sequential.SequentialAudit('GRR')", "mechanism must be a mechanism, client or source, got 'GRR'"),
    ("sequential.SequentialAudit(grr, inputs=[1])", "inputs must be at least two, got [1]"),
    ("sequential.SequentialAudit(grr, inputs=[1, 2], pair=(1, 2))", "inputs must not be given together with a pair"),
    ("sequential.SequentialAudit(grr, within=-1)", "within must be a finite number >= 0, got -1"),
    ("sequential.SequentialAudit(grr, max_time=nan)", "max_time must be a finite number >= 0, got nan"),
    ("sequential.SequentialAudit(grr, independent=1)", "independent must be True or False, got 1"),
    ("sequential.Declared(3, 'x')", "function must be callable, got 3"),
    ("sequential.Declared(len, 3)", "words must be a text, got 3"),
    ("sequential.Declared(len, 'x', (0.5, 2))", "rates must be a number in [0, 1] everywhere, got 2.0"),
    ("program.Program('')", "command must name a program, got ''"),
    ("program.Program('cat', 0)", "limit must be a finite number > 0, got 0"),
    ("recordings.recorded('a.xls', 'b.xls', 'any', 1.0)", "format of a recording must be one of .jsonl, .json, .csv, .parquet, got '.xls'"),
    ("recordings.recorded('a.csv', 'b.csv', 'any', 1.0)", "recording must be a file, got a.csv"),
    ("api.audit(grr, until='certain')", "until must be one of counted, sure, got 'certain'"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), 'skv')", "attack of PCKV-UE must be one of hkv, vkv, got 'skv'"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), trials=1, estimator='split')", "trials must be an integer in [2, 1000000000000], got 1"),
    ("auditors.RADAudit(SUE(3, 1.0))", "mechanism must be a GRR, FloorSS or OUE, got SUE(k=3, epsilon=1.0)"),
    # key-value
    ("auditors.KVAudit(grr)", "mechanism must be a PCKV, or a CPP with k = 1, got GRR(k=3, epsilon=1.0)"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), ownership=nan)", f"ownership {UNIT} nan"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), estimator='best')", "estimator must be one of released, printed, valid, split, pooled, got 'best'"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), minimum=0)", "minimum must be an integer >= 1, got 0"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), variation=-1)", "variation must be a finite number >= 0, got -1"),
    ("auditors.KVAudit(PCKVUE(2, 1.0), pairs=((0, 1.0),))", "pairs must be two (key, value), one per group, got ((0, 1.0),)"),
    ("auditors.KVAudit(PCKVGRR(2, 1.0), positions=[0])", "positions must be left out for PCKV-GRR under attack hkv, got [0]"),
    ("auditors.KVAudit(CPPUE(1, 1.0), 'skv', squads=(-1.0, 1.0))", "squads must hold values of one bucket, got (-1.0, 1.0)"),
    ("auditors.KVAudit(CPPUE(1, 1.0), 'separated', scaling='all')", "scaling must be one of released, exact, got 'all'"),
    ("auditors.KVAudit(CPPUE(1, 1.0), last='no')", "last must be True or False, got 'no'"),
    ("auditors.DistributionAudit([0.5, 0.5], [1.0])", "must be probabilities of the same outputs, each adding to 1, got shape (2,)"),
    ("auditors.DistributionAudit([0.5, 0.5], [0.5, 0.5], guess=[0.1])", "guess must hold one probability for each of the 2 outputs, got shape (1,)"),
    ("auditors.DistributionAudit([0.5, 0.5], [0.5, 0.5], claim=nan)", "claim must be a finite number >= 0, got nan"),
    ("auditors.KVAudit.cell(mechanism='PCKV', k=2, epsilon=1.0)", "mechanism must be one of PCKV-UE, PCKV-GRR, CPP-UE, CPP-GRR, PrivKV, got 'PCKV'"),
    ("kv.collapse(np.ones(5), [0], 2, 2)", "cells must have 2^2 = 4 columns, got shape (5,)"),
    ("kv.collapse(np.ones(4), [0], 1, 2)", "base must be an integer >= 2, got 1"),
    ("kv.guess_rates(3, 3)", "target must be an integer in [0, 2], got 3"),
    ("kv.guess_rates(0, 0)", "length must be an integer >= 1, got 0"),
    ("kv.oracle_distribution(OLH(3, 1.0), 0)", "mechanism must send reports that can be listed, got hash reports"),
    ("kv.oracle_distribution(grr, 3)", "value must be an integer in [0, 2], got 3"),
    ("count_ratio.statistic([[1, 2]], [[1]], 9)", "first and second must be counts (halves, outputs) of the same outputs, got (1, 2) and (1, 1)"),
    ("count_ratio.statistic([[1, 2]], [[1, 2]], 0)", "users must be an integer >= 1, got 0"),
    ("count_ratio.statistic([[1, 2]], [[1, 2]], 9, 'split')", "split and pooled need counts of two halves of the users, got 1 and 1"),
    ("count_ratio.statistic([[1, 2]], [[1, 2]], 9, 'printd')", "got 'printd'; did you mean 'printed'?"),
    # reconstruction
    ("rad.rad_uniform(3)", "mechanism must be a GRR, SS or OUE, got 3"),
    ("rad.invert_blackbox(nan, 3)", "advantage must be a number in [-1, 0.666667], got nan"),
    ("rad.invert_blackbox(0.1, 1)", "m must be an integer >= 2, got 1"),
    ("rad.invert_known('OLH', 0.1, 3)", "mechanism must be one of GRR, SS, OUE, got 'OLH'"),
    ("rad.invert_known('GRR', 2, 3)", "advantage must be a number in [-1, 1], got 2"),
    ("rad.epsilon_interval(5, 4, 3)", "successes must be an integer in [0, 4], got 5"),
    ("auditors.rad_result(1, 0, 3)", "reports must be an integer >= 1, got 0"),
    ("auditors.RADAudit.cell(k=3, epsilon=1.0)", "audit needs mechanism"),
    ("auditors.ShuffleAudit.cell(epsilon=1.0, clients=500, k=3)", "option must be one of trials, alpha, faithful, epsilon, clients"),
    ("auditors.RADAudit(grr, faithful=None)", "faithful must be True or False, got None"),
    ("auditors.calibrate('oeu', 0.1, 2)", "mechanism must be one of laplace, gaussian, grr, oue, ss, dpsgd, got 'oeu'; did you mean 'oue'?"),
    ("auditors.calibrate('grr', 0.5, 2)", f"{RISK} 0.5"),
    ("auditors.calibrate('laplace', 0.1, 2, sensitivity=0)", f"sensitivity {POSITIVE} 0"),
    ("auditors.calibrate('dpsgd', 0.1, 2, steps=0)", "steps must be an integer >= 1, got 0"),
    ("auditors.calibrate('grr', 0.1, 2, knowledge='all')", "knowledge must be one of none, any, got 'all'"),
    ("rad_bounds.tradeoff_dp(-1)", "epsilon must be a finite number >= 0, got -1"),
    ("rad_bounds.tradeoff_dp(1.0, 2)", f"delta {UNIT} 2"),
    ("rad_bounds.tradeoff_gdp(nan)", "mu must be a finite number >= 0, got nan"),
    ("rad_bounds.total_variation(1)", "f must be a trade-off function, got 1"),
    ("rad_bounds.tv_composed(1, 2)", f"tv {HALF} 1"),
    ("rad_bounds.tv_composed(0.1, 0)", "rounds must be an integer >= 1, got 0"),
    ("rad_bounds.rero_eq3(rad_bounds.tradeoff_dp(1.0), -1)", f"kappa_plus {UNIT} -1"),
    ("rad_bounds.rad_thm42(2, 0.5)", f"tv {UNIT} 2"),
    ("rad_bounds.rad_thm42(0.5, nan)", f"kappa {UNIT} nan"),
    (f"rad_bounds.rad_thm51(rad_bounds.tradeoff_dp(1.0), {BOUND}=2)", f"kappa_minus {UNIT} 2"),
    ("rad_bounds.rad_cor54(1, 1.0)", "m must be an integer >= 2, got 1"),
    ("rad_bounds.grr_ex44(grr, [0.5, 0.5])", "prior must have the mechanism's k = 3 records, got 2"),
    ("rad_bounds.oue_ex45(3, [0.5, 0.5])", "mechanism must be a GRR or OUE, got 3"),
    ("rad_bounds.laplace_ex47([-1.0], 1.0)", "gaps must be a finite number >= 0 everywhere, got -1"),
    ("rad_bounds.gaussian_ex48([nan], 1.0)", "gaps must be a finite number >= 0 everywhere, got nan"),
    # gradients and shuffled gradients
    ("auditors.GradientAudit(3, pairs)", "mechanism must be a randomiser of gradients, got 3"),
    ("auditors.GradientAudit(LDPSGD(4, 1.0), 3)", "pairs must be Pairs of gradients, got 3"),
    ("auditors.GradientAudit(LDPSGD(5, 1.0), pairs)", "gradients must have the mechanism's dimension 5, got 4"),
    ("auditors.GradientAudit(LDPSGD(4, 1.0), pairs, 'cosin')", "attack must be one of cosine, lune, got 'cosin'"),
    ("auditors.GradientAudit(LDPSGD(4, 1.0), pairs, trials=0)", "trials must be an integer in [1, 500000000], got 0"),
    ("gradients.epsilon_from_errors(-0.1, 0.5)", "fpr must be a number in [0, 1] everywhere, got -0.1"),
    ("gradients.epsilon_from_errors(0.1, [0.5, nan])", "fnr must be a number in [0, 1] everywhere, got nan"),
    ("gradients.plugin_expectation(0.5, [0.5], 9, 9)", f"fnr {UNIT} [0.5]"),
    ("gradients.plugin_expectation(0.5, 0.5, 0, 9)", "first must be an integer >= 1, got 0"),
    ("gradients.pooled(10, 9)", "errors must be whole numbers in [0, 9], got 10"),
    ("gradients.lower_sides(1, '0', 9, 0.1)", "fn must be whole numbers in [0, 9], got 0"),
    ("auditors.ShuffleAudit(1.0, 10)", "clients at epsilon = 1 and delta = 1e-06 must be an integer >= 432, got 10"),
    ("auditors.ShuffleAudit(1.0, 10**7)", "clients must be an integer in [1, 1000000], got 10000000"),
    ("auditors.ShuffleAudit(1.0, 10**4, 0)", "delta must be a number in [1e-12, 1), got 0"),
    ("shuffle.pmfs(3, 1.0, [0.5, 0.5])", "others must be 3 probabilities that add to 1, got shape (2,)"),
    ("shuffle.pair_delta(3, 1.0, nan)", "shuffled must be a finite number >= 0, got nan"),
    ("shuffle.blanket_delta(3, 1.0, 0.5, 2)", f"blanket {UNIT} 2"),
    ("shuffle.solve(None, 0.1, 1.0)", "delta_at must be callable, got None"),
    ("shuffle.solve(lambda e: 1.0, 0.1, 1.0)", "delta must be reached at an epsilon in [0, 1], got 0.1"),
    # refinement
    ("refine.front('sss', 9, 1.0)", "family must be one of ss, ue, lh, he, got 'sss'; did you mean 'ss'?"),
    ("refine.front('ue', 9, 1.0, asr='printed')", "asr must be one of exact, published, got 'printed'"),
    ("refine.front('ue', 9, 1.0, grid=[])", "grid must be a non-empty list of numbers or 'published', got"),
    ("refine.front('ue', 9, 1.0, poisoning=3)", "poisoning must be a MaximalGain, got 3"),
    ("refine.front('ss', 2, 1.0)", "k must be at least 3 for family ss (the paper's grid ends at k - 2), got 2"),
    ("refine.front('lh', 10**8, 1.0)", "the grid of g must end at 2097152 or before, got 99999999"),
    ("refine.nondominated([[1.0]])", "points must have 2 or 3 columns, got shape (1, 1)"),
    ("refine.nondominated([[1.0, nan]])", "points must be a finite number everywhere, got nan"),
    ("refine.select([])", "points must be a non-empty table of finite numbers, got shape (0,)"),
    ("refine.select([[1.0, 2.0]], 'elbows')", "got 'elbows'; did you mean 'elbow'?"),
    ("refine.select([[1.0, 2.0]], weights=[1, -1])", "weights[1] must be a finite number >= 0, got -1"),
    ("refine.select([[1.0, 2.0]], limit=nan)", f"limit {UNIT} nan"),
    ("refine.refine('ue', 9, 1.0, weights=(0, 0, 0))", "weights must be 3 numbers >= 0, not all zero, got [0.0, 0.0, 0.0]"),
    ("refine.success(grr, 'real')", "asr must be one of exact, published, got 'real'"),
    ("refine.table(['GRR'], [2], [0])", f"{EPSILON} 0"),
]  # fmt: skip


def made(name, **more):
    """The mechanism called `name`, with valid parameters and `more`."""
    wanted = {"k": 6, "g": 3, "epsilon": 0.7, "delta": 0.01, "first": 0.3, "d": 2, "buckets": 3, "bits": 2, "omega": 2, "p": 0.6,
              "theta": 0.7, "sigma": 2.0, "sensitivity": 5, "seeds": 64}  # fmt: skip
    own = {key: value for key, value in wanted.items() if mechanisms.takes(name, key)}
    return mechanisms.make(name, **own | more)


SPACE["made"] = made
PYTHON = [*HALL, *CLIENTS, *ATTACKERS, *AUDITORS]
MISSING = (FileNotFoundError,)  # no such folder: documented as what it is


def refusal(text, message):
    """What is wrong with an error; nothing if it names parameter, value and range."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning on the way would be a second message
        try:
            eval(text, dict(SPACE))
        except (ValueError, TypeError, *MISSING) as error:
            said = str(error)
        except Exception as error:
            return f"{text} raises {type(error).__name__} instead of a refusal: {error}"
        else:
            return f"{text} is not refused"
    return "" if message in said else f"{text}: {said}"


def test_bad_input_is_refused_by_parameter_value_and_range():
    wrong = [wrong for row in PYTHON if (wrong := refusal(*row))]
    assert wrong == [], f"rows of HALL, CLIENTS, ATTACKERS and AUDITORS in {HERE}"


def test_a_store_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"junk")
    message = "store must be a folder that can be written, got '.*file'"
    with pytest.raises(ValueError, match=message):
        MODULES["grid"].grid(dict, {"a": [1]}, seed=1, store=tmp_path / "file")


AUDIT = "audit --mechanism OUE --k 5 --epsilon 1 --trials 10"
RATES = "rates --mechanism OUE --k 5 --epsilon 1"
PLAN = "plan --mechanism OUE --k 5 --epsilon 1"
OWN = "audit --k 5 --epsilon 1 --delta 0.1 --trials 10"
CLIENT = "audit --k 5 --epsilon 1 --trials 10 --client"
KV = "audit-kv --mechanism pckv-ue --epsilon 1 --users 1000"
DUMMY = "audit-gradient --adversary dummy --dimension 4 --epsilon 1 --trials 10"
SHUFFLE = "audit-shuffle --epsilon 1 --clients 10000 --trials 10"
REFINE = "refine --family ue --k 10 --epsilon 1"
COUNTS = "rad --m 10 --successes 5 --reports 10"
NOISE = "calibrate --mechanism grr --m 2 --risk 0.1"
COMMANDS = [
    ("adit", "No such command 'adit'"),
    ("list everything", "unexpected extra argument (everything)"),
    ("cache --clean", "No such option"),
    # audit
    (f"{AUDIT} --attack tight --attack tight", "--attack and --pair may be repeated, but not with the same value twice"),
    ("audit --k 5", "give either --mechanism or --client"),
    ("audit --mechanism OEU --k 5 --epsilon 1", "got 'OEU'; did you mean 'OUE'?"),
    ("audit --mechanism OUE --k True --epsilon 1", "'--k': 'True' is not a whole number"),
    ("audit --mechanism OUE --k 1e400 --epsilon 1", "'--k': '1e400' is not a whole number"),
    ("audit --mechanism OUE --k -0 --epsilon 1", f"{K} 0"),
    ("audit --mechanism OUE --k 5 --epsilon -0.0", f"{EPSILON} -0.0"),
    ("audit --mechanism OUE --k 5 --epsilon", "Option '--epsilon' requires an argument"),
    ("audit --mechanism OUE --k 5 --epsilon 0x1", "'--epsilon': '0x1' is not a number"),
    ("audit --mechanism AGRR --k 5 --epsilon 1 --delta 1", f"delta {OPEN} 1.0"),
    (f"{AUDIT} --delta -1", f"delta {HALF} -1.0"),
    (f"{AUDIT} --delta nan", "delta must be"),
    ("audit --mechanism OUE --k nan --epsilon 1", "'--k': 'nan' is not a whole number"),
    ("audit --mechanism OUE --k inf --epsilon 1", "'--k': 'inf' is not a whole number"),
    ("audit --mechanism OUE --epsilon 1", "mechanism OUE needs k"),
    ("audit --mechanism OUE --k 5", "mechanism OUE needs epsilon; its parameters are k, epsilon"),
    ("audit --mechanism LHO --k 5", "mechanism LHO needs g; its parameters are k, g"),
    ("audit --mechanism LHO --k 5 --g 2 --epsilon 1", "mechanism LHO does not take epsilon"),
    ("audit --mechanism GM --k 5 --epsilon 0.5", "delta must be"),
    ("audit --mechanism L-SUE --k 5 --epsilon 2", "mechanism L-SUE needs first"),
    ("audit --mechanism L-SUE --k 5 --epsilon 2 --first 1 --tau 0", "tau must be"),
    ("audit --mechanism RSFD[GRR] --k 5 --epsilon 28 --d 2", "epsilon must be a number in [1e-06, 27]"),
    ("audit --mechanism RSFD[SUE] --k 5 --epsilon 1 --d 2", "got 'RSFD[SUE]'; did you mean 'RSFD[SUE-"),
    ("audit --mechanism SUE --k 5 --epsilon 1 --tau 2 --d 3", "mechanism SUE does not take d"),
    ("audit --mechanism dBitFlipPM --k 5 --epsilon 1 --buckets 4 --bits 2", "buckets must divide k = 5"),
    ("audit --mechanism AUE --k 5 --epsilon 1e-6 --p 0.9999999999999999", "p must exceed q = 1 by at least 1e-12"),
    ("audit --mechanism AUE --k 5 --epsilon 30 --p 5e-324", "p must exceed q = 0 by at least 1e-12"),
    ("audit --mechanism THE --k 5 --epsilon 1 --theta 0", "mechanism THE does not take theta"),
    (f"{AUDIT} --colour red", "No such option"),
    ("audit --client m:f --k 10 --report bits", "--client needs --epsilon"),
    ("audit --client m:f --k 10 --attack tight", "--client needs --report and --epsilon"),
    ("audit --client m:f", "--client needs --inputs and --epsilon"),
    ("audit --client m:f --epsilon 1", "--client needs --inputs"),
    ("audit --client m:f --inputs [0,1]", "--client needs --epsilon"),
    ("audit --client m:f --report bits --epsilon 1", "--client needs --k"),
    ("audit --client m:f --inputs [0,1] --epsilon 1 --tau 3", "--client takes no --tau"),
    ("audit --client m:f --eps 1", "No such option '--eps'. Did you mean --epsilon?"),
    ("exact --client m:f --inp [0,1]", "No such option '--inp'. Did you mean --inputs?"),
    ("audit --client m:f --inputs [0,1] --epsilon 1 --skip-lines 1", "--skip-lines are those of a --command"),
    ("audit --command cat --inputs [0,1] --epsilon 1 --skip-lines -1", "skip_lines must be"),
    *((f"{CLIENT} m:f --report bits {option}", f"takes no {option.split()[0]}") for option in (
        "--tau 3, --d 2, --first 1, --buckets 2, --bits 1, --g 3, --memoise, --omega 2, --p 0.5, --theta 0.5,"
        " --theta 0").split(", ")),
    (f"{AUDIT} --attack ''", ATTACK),
    (f"{AUDIT} --alpha 1e-300", f"{ALPHA} 1e-300"),
    (f"{AUDIT} --trials 1e13", "trials must be an integer in [1, 1000000000000], got 10000000000000"),
    (f"{AUDIT} --seed -1", "seed must be an integer >= 0, got -1"),
    (f"{AUDIT} --pair 0 9", "pair must be an integer in [0, 4], got 9"),
    (f"{AUDIT} --pair 1 1", "pair must hold two different values, got (1, 1)"),
    ("exact --inputs [0,1] --epsilon 1", "Missing option '--client'"),
    ("exact --client json:dumps --inputs [0 --epsilon 1", "--inputs must be a JSON list or schema, got '[0'"),
    ("exact --client json:dumps --inputs [0,1] --epsilon -1", "epsilon must be a finite number >= 0, got -1.0"),
    ("audit --mechanism GRR --k 3 --epsilon 0", "epsilon must be a number in [1e-06, 30], got 0.0"),
    ("exact --client json:dumps --inputs [0,1] --epsilon 1 --delta 2", f"delta {HALF} 2.0"),
    ("exact --client json:dumps --inputs [0,1] --epsilon 1 --ways 0", "ways must be"),
    ("exact --client json:dumps --inputs [0,1] --epsilon 1 --tapes 0", "tapes must be"),
    ("exact --client json:dumps --inputs [0,1] --epsilon 1 --seconds 0", "seconds must be a finite number > 0, got 0.0"),
    (f"{AUDIT} --claim gdp", "--claim needs --until-sure"),
    (f"{AUDIT} --mu 1", "--mu needs --until-sure"),
    (f"{AUDIT} --until-sure --mu 0", "mu must be a number in (0, 20], got 0.0"),
    (f"{AUDIT} --claim-points nowhere.csv", "File 'nowhere.csv' does not exist"),
    (f"{AUDIT} --claim-lines nowhere.csv", "File 'nowhere.csv' does not exist"),
    (f"{AUDIT} --threads 0", "threads must be an integer >= 1, got 0"),
    (f"{AUDIT} --m 2", "mechanism OUE does not take m; its parameters are k, epsilon"),
    ("audit --mechanism CMS --k 5 --epsilon 1 --hashes 0", "hashes must be an integer in [1, 65536], got 0"),
    ("audit --mechanism RAPPOR --k 5 --epsilon 1 --h 2 --cohorts 0", "cohorts must be an integer in [1, 65536], got 0"),
    ("audit --mechanism RAPPOR --k 5 --epsilon 1 --keep 0 --flip 1", "keep must exceed flip = 1 by at least 0.001, got 0"),
    ("audit --mechanism FLH --k 5 --g 3 --epsilon 1 --seeds 0", "seeds must be an integer in [1, 4294967296], got 0"),
    ("rates --mechanism FLH --k 5 --g 3 --epsilon 1 --seeds 0", "seeds must be an integer in [1, 4294967296], got 0"),
    ("audit --mechanism DiscreteLaplace --epsilon 1 --sensitivity 0", "sensitivity must be an integer in [1, 1048576], got 0"),
    ("rates --mechanism DiscreteLaplace --epsilon 1 --sensitivity 0", "sensitivity must be an integer in [1, 1048576], got 0"),
    ("audit --mechanism DiscreteGaussian --sigma 0 --delta 1e-5", "sigma must be a number in [0.125, 65536], got 0.0"),
    ("rates --mechanism DiscreteGaussian --sigma 1 --delta 0", "delta must be a number in [1e-290, 1), got 0.0"),
    ("audit --mechanism HM --k 5 --epsilon 1 --t 17", "t must be an integer in [1, 16], got 17"),
    ("rates --mechanism RAPPOR --k 5 --epsilon 1 --h 0 --cohorts 9 --keep 1 --flip 0", "h must be an integer in [1, 16], got 0"),
    ("rates --mechanism HM --k 5 --epsilon 1 --t 0", "t must be an integer in [1, 16], got 0"),
    ("audit --mechanism PM --k 5 --epsilon 1 --attack tight", "mechanism PM does not take k; its parameters are epsilon"),
    ("audit --mechanism PM --epsilon 1 --attack tight --pair x 1", "'x' is not a number"),
    (f"{CLIENT} math:floor --command cat --report value", "give either --mechanism or --client (or --command, or --recordings)"),
    ("audit --command no-such-program --report any --inputs [1,2] --epsilon 1 --limit 1 --trials 9 --until-sure --attack learned",
     "program no-such-program cannot be started"),
    ("audit --command cat --limit 0 --report any --inputs [1,2] --epsilon 1", "limit must be a finite number > 0, got 0.0"),
    ("audit --command cat --on-error report --report value --k 2 --epsilon 1", "on_error must be one of stop, got 'report'"),
    ("audit --command cat --on-error go --report any --inputs [1,2] --epsilon 1", "'go' is not one of 'stop', 'report'"),
    ("audit --command cat --report any --epsilon 1", "--command needs --inputs"),
    ("audit --command cat --time --report value --k 2 --epsilon 1", "report must be one of any, got 'value'"),
    (f"{AUDIT} --time", "--time is that of a --client or a --command"),
    ('audit --command cat --inputs {"type":"string","pattern":"a"} --epsilon 1', "schema must not have pattern"),
    ('audit --command cat --inputs {"type":"set"} --epsilon 1', "type of a schema must be one of"),
    ("audit --command cat --report any --inputs 1 --epsilon 1", "--inputs must be a JSON list or schema, got '1'"),
    ("audit --recordings a.txt b.txt --report any --epsilon 1 --until-sure", "format of a recording must be one of .jsonl, .json"),
    (f"{AUDIT} --independent", "--independent states a fact about a client's reports"),
    (f"{AUDIT} --within 0.1", "--within needs --until-sure"),
    (f"{AUDIT} --all-pairs", "--all-pairs needs --until-sure"),
    (f"{AUDIT} --save a.state", "--save needs --until-sure"),
    (f"{AUDIT} --attack guess --attack tight --html a.html", "--html shows one result: give one --attack and one --pair"),
    (f"{AUDIT} --sarif nowhere/a", "sarif must be a file in an existing folder, got nowhere/a"),
    (f"{AUDIT} --junit nowhere/a", "junit must be a file in an existing folder, got nowhere/a"),
    (f"{AUDIT} --baseline {__file__}", "must be a JSON list of accepted findings, each with client, epsilon"),
    (f"{AUDIT} --alpha 0 --no-values", "without --no-values it says why"),
    (f"{AUDIT} --ignore ts", "--ignore names fields of --recordings"),
    ("audit --client shop:send --fields a --inputs [0,1] --epsilon 1", "--fields names fields of --recordings"),
    (f"{AUDIT} --until-sure --max-time -1", "max_time must be a finite number >= 0, got -1.0"),
    (f"{AUDIT} --until-sure --within nan", "within must be a finite number >= 0, got nan"),
    (f"{AUDIT} --until-sure --threads 2", "--threads count reports, and an audit until sure bets on each, got 2"),
    (f"{AUDIT} --until-sure --pair 0 1 --pair 0 2", "give one --pair, or --all-pairs of --inputs"),
    (f"{AUDIT} --until-sure --inputs [0,1,2]", "give two --inputs, or --all-pairs of them, and then no --pair"),
    ("audit --mechanism OUE --k 50 --epsilon 1 --until-sure --all-pairs", "--all-pairs takes 12 inputs at most"),
    (f"{AUDIT} --inputs [0,1]", "--inputs name those of a client with --report any; a mechanism takes --pair"),
    # resume, plan, bound
    ("resume no.state --trials 3 --max-time 1 --html a.html --client a:b --command c --recordings d e", "'no.state' does not exist"),
    (f"resume no.state --sarif a --junit b --baseline {__file__}", "'no.state' does not exist"),
    (f"resume {__file__}", "is no audit that was kept"),
    ("plan --epsilon 1", "give --epsilon, and either --mechanism with --suspected or --tpr with --fpr"),
    ("plan --tpr 0.5 --fpr 0.1", "give --epsilon, and either --mechanism with --suspected or --tpr with --fpr"),
    ("plan --epsilon 1 --tpr 1.5 --fpr 0.1", f"tpr {UNIT} 1.5"),
    ("plan --epsilon 1 --tpr 0.5 --fpr -0.1", f"fpr {UNIT} -0.1"),
    ("plan --epsilon 1 --tpr 0.5 --fpr 0.1 --alpha 0", f"{ALPHA} 0.0"),
    ("plan --epsilon 1 --tpr 0.5 --fpr 0.1 --rate 0", "rate must be a finite number > 0, got 0.0"),
    (f"{PLAN}", "--mechanism needs the epsilon that is --suspected"),
    (f"{PLAN} --suspected 2 --attack tigth", f"{ATTACK} 'tigth'"),
    (f"{PLAN} --suspected 2 --tau 0", "tau must be an integer in [1, 1000000], got 0"),
    (f"{PLAN} --suspected 2 --g 2 --delta 0.1", "mechanism OUE does not take g"),
    (f"{PLAN} --suspected 2 --omega 2 --p 0.5 --theta 1 --grid 2^-20", "mechanism OUE does not take omega, p, theta, grid"),
    (f"{PLAN} --suspected 2 --first 0.5 --d 2 --buckets 2 --bits 1", "mechanism OUE does not take first, d, buckets, bits"),
    (f"{PLAN} --suspected 2 --m 2 --hashes 2 --t 2 --h 2 --cohorts 2 --keep 1 --flip 0", "mechanism OUE does not take m, hashes, t, h, cohorts, keep, flip"),
    (f"{PLAN} --suspected 2 --sigma 1 --sensitivity 2 --seeds 3", "mechanism OUE does not take"),
    ("bound --tp 11 --fp 1 --n 10", "tp must be whole numbers in [0, 10], got 11"),
    ("bound --tp 1 --fp -1 --n 10", "fp must be whole numbers in [0, 10], got -1"),
    ("bound --tp 1 --fp 1 --n 0", "n must be an integer >= 1, got 0"),
    ("bound --tp 1 --fp 1 --n 10 --alpha 1", f"{ALPHA} 1.0"),
    ("bound --tp 1 --fp 1 --n 10 --delta 1", f"delta {HALF} 1.0"),
    # rates
    ("rates --k 5 --epsilon 1", "give a --mechanism"),
    (f"{RATES} --pair 0.5 1", "pair must be an integer in [0, 4], got 0.5"),
    (f"{RATES} --trials 0", "trials must be an integer in [1, 1000000000000], got 0"),
    (f"{RATES} --delta 0.1", "mechanism OUE does not take delta, got 0.1"),
    (f"{RATES} --omega 2 --p 0.5 --theta 1 --grid 2^-20", "mechanism OUE does not take omega, p, theta, grid"),
    (f"{RATES} --first 0.5 --d 2 --buckets 2 --bits 1", "mechanism OUE does not take first, d, buckets, bits"),
    (f"{RATES} --m 2 --hashes 2", "mechanism OUE does not take m, hashes"),
    ("rates --mechanism AGRR --k 5 --epsilon 1 --delta 2", "delta must be a number in (0, 1), got 2.0"),
    ("rates --mechanism PM --epsilon 1", "attack guess cannot read the number reports of PM: audit it with attack tight"),
    ("rates --mechanism PM --epsilon 1 --attack tight --tau 3", "tau must not be given for PM: its collections are not repeated"),
    ("rates --mechanism SS --k 25 --epsilon 0.25 --tau 3", "mechanism must have known rates of the attack guess, got Repeated"),
    (f"{AUDIT} --report bits", "--report describes the reports of a --client"),
    (f"{OWN} --mechanism ALH --g 0", "g must be an integer in [2, 4294967296], got 0"),
    (f"{OWN} --mechanism ASS --omega 5", "omega must be an integer in [1, 4], got 5"),
    (f"{OWN} --mechanism AUE --p 1", f"p {OPEN} 1.0"),
    (f"{OWN} --mechanism ATHE --theta 2", f"theta {UNIT} 2.0"),
    (f"{OWN} --mechanism SHE --grid 2^-21", "grid must be a number in [9.53674e-07, 0.000976562], got 4.7"),
    (f"{OWN} --mechanism SHE --grid 2^-x", "Invalid value for '--grid': '2^-x' is not a number"),
    (f"{OWN} --mechanism L-SUE --first 1", "first must be a number in [1e-06, 1), got 1.0"),
    (f"{OWN} --mechanism RSFD[GRR] --d 1", "d must be an integer >= 2, got 1"),
    (f"{OWN} --mechanism dBitFlipPM --buckets 1 --bits 1", "buckets must be an integer in [2, 5], got 1"),
    (f"{OWN} --mechanism dBitFlipPM --buckets 5 --bits 6", "bits must be an integer in [1, 5], got 6"),
    (f"{CLIENT} math:floor --report bit", "'bit' is not one of 'value', 'bits', 'subset', 'any'"),
    (f"{CLIENT} floor --report value", "client must be given as module:function, got 'floor'"),
    (f"{CLIENT} no_such_module:f --report value", "client 'no_such_module:f' cannot be imported: ModuleNotFoundError"),
    (f"{CLIENT} math:exp --report value", "client math:exp must return one integer in 0..4 per user, got 54.5"),
    (f"{CLIENT} builtins:exit --report value", "client must take (values, rng) or (value), its signature is (code=None)"),
    # audit-kv
    ("audit-kv --mechanism pckv --epsilon 1", "'--mechanism': 'pckv' is not one of"),
    (f"{KV} --users 0.5", "'--users': '0.5' is not a whole number"),
    (f"{KV} --users 1e13", "users must be an integer in [1, 1000000000000], got 10000000000000"),
    (f"{KV} --keys 0", "k must be an integer in [1, 2147483647], got 0"),
    (f"{KV} --keys 100000", "an alphabet of 3^100001 outputs is too large to enumerate (at most 1048576, a length of 12)"),
    (f"{KV} --keys 2147483647", "an alphabet of 3^2147483648 outputs is too large to enumerate (at most 1048576, a length of 12)"),
    (f"{KV} --padding -1", "padding must be an integer in [1, 2147483647], got -1"),
    (f"{KV} --share 2", "share must be a number in (0, 1], got 2.0"),
    (f"{KV} --eta ceil", "'--eta': 'ceil' is not one of 'correct', 'floor'"),
    (f"{KV} --buckets 2", "mechanism PCKV-UE does not take buckets; its parameters are k, epsilon, padding, share, eta"),
    ("audit-kv --mechanism cpp-ue --epsilon 1 --rounds 0", "rounds must be an integer in [1, 1000000], got 0"),
    (f"{KV} --ownership -0.1", f"ownership {UNIT} -0.1"),
    (f"{KV} --auditor skv", "attack of PCKV-UE must be one of hkv, vkv, got 'skv'"),
    (f"{KV} --estimator best", "estimator must be one of released, printed, valid, split, pooled, got 'best'"),
    (f"{KV} --minimum 0", "minimum must be an integer >= 1, got 0"),
    (f"{KV} --alpha 0", f"{ALPHA} 0.0"),
    (f"{KV} --seed -2", "seed must be an integer >= 0, got -2"),
    # rad and calibrate
    ("rad --m 10", "give --mechanism and --epsilon, or --successes and --reports"),
    ("rad --m 10 --successes 3", "--successes and --reports belong together"),
    ("rad --m 1 --mechanism GRR --epsilon 1", "m must be an integer >= 2, got 1"),
    ("rad --m 10 --mechanism OLH --epsilon 1", "mechanism must be one of GRR, SS, OUE, got 'OLH'"),
    (f"{COUNTS} --epsilon nan", "claim must be a finite number >= 0, got nan"),
    (f"{COUNTS} --delta 1", f"delta {HALF} 1.0"),
    (f"{COUNTS} --alpha 1", f"{ALPHA} 1.0"),
    ("rad --m 10 --successes 11 --reports 10", "successes must be an integer in [0, 10], got 11"),
    ("rad --m 10 --successes 0 --reports 0", "reports must be an integer >= 1, got 0"),
    ("calibrate --mechanism grr --m 2", "Missing option '--risk'"),
    ("calibrate --mechanism gr --m 2 --risk 0.1", "got 'gr'; did you mean 'grr'?"),
    ("calibrate --mechanism grr --m 2 --risk nan", f"{RISK} nan"),
    (f"{NOISE} --steps 0", "steps must be an integer >= 1, got 0"),
    (f"{NOISE} --sensitivity -1", f"sensitivity {POSITIVE} -1.0"),
    (f"{NOISE} --knowledge all", "knowledge must be one of none, any, got 'all'"),
    # audit-gradient and audit-shuffle
    ("audit-gradient --adversary file --epsilon 1", "pairs must be given with the adversary file, and only then"),
    (f"{DUMMY} --pairs a.npz", "pairs must be given with the adversary file, and only then"),
    ("audit-gradient --adversary file --epsilon 1 --pairs no.npz", "pairs must be a file of NumPy (.npz) with the arrays first and second"),
    ("audit-gradient --adversary file --epsilon 1 --pairs no.npz --norm 2", "norm belongs to the adversary dummy, got 2.0"),
    ("audit-gradient --adversary file --epsilon 1 --pairs no.npz --dimension 5", "dimension belongs to the adversary dummy"),
    ("audit-gradient --adversary evil --epsilon 1", "'--adversary': 'evil' is not one of"),
    (f"{DUMMY} --mechanism dp-sgd", "'--mechanism': 'dp-sgd' is not one of"),
    (f"{DUMMY} --rule best", "'--rule': 'best' is not one of"),
    (f"{DUMMY} --norm 0", f"norm {POSITIVE} 0.0"),
    (f"{DUMMY} --clip -1", f"clip {POSITIVE} -1.0"),
    (f"{DUMMY} --alpha 0.5", "alpha must be a number in [1e-100, 0.25], got 0.5"),
    (f"{DUMMY} --seed x", "'--seed': 'x' is not a whole number"),
    ("audit-shuffle --epsilon 1 --clients 5", "clients at epsilon = 1 and delta = 1e-06 must be an integer >= 432, got 5"),
    (f"{SHUFFLE} --delta 0", "delta must be a number in [1e-12, 1), got 0"),
    (f"{SHUFFLE} --trials 0", "trials must be an integer in [1, 500000000], got 0"),
    (f"{SHUFFLE} --alpha nan", f"{ALPHA} nan"),
    (f"{SHUFFLE} --seed -1", "seed must be an integer >= 0, got -1"),
    # sweep
    ("sweep no_such.yml", "File 'no_such.yml' does not exist"),
    (f"sweep {__file__} --workers 2 --scheduler tcp://none", "--workers are processes of this machine; with --scheduler"),
    (f"sweep {__file__} --allow os", "not YAML: expected"),
    (f"sweep {__file__} --limit soon", "'--limit': 'soon' is not a number"),
    (f"sweep {__file__} --out .", "File '.' is a directory"),
    (f"sweep {__file__} --store {__file__}", "is a file"),
    # refine
    ("refine --family uee --k 10 --epsilon 1", "family must be one of ss, ue, lh, he, got 'uee'; did you mean 'ue'?"),
    (f"{REFINE} --w-asr -1", "weights[0] must be a finite number >= 0, got -1.0"),
    (f"{REFINE} --w-mse nan", "weights[1] must be a finite number >= 0, got nan"),
    (f"{REFINE} --w-epg inf", "weights[2] must be a finite number >= 0, got inf"),
    (f"{REFINE} --strategy best", "strategy must be one of weighted, utopia"),
    (f"{REFINE} --limit 2", f"limit {UNIT} 2.0"),
    (f"{REFINE} --share 0", f"share {OPEN} 0.0"),
    (f"{REFINE} --targets 11", "targets must be an integer in [1, 10], got 11"),
    (f"{REFINE} --frequency 2", f"frequency {UNIT} 2.0"),
    (f"{REFINE} --targets 2.5", "'--targets': '2.5' is not a whole number"),
    (f"{REFINE} --grid 5", "No such option '--grid'"),
    (f"{REFINE} --w-asr half", "'--w-asr': 'half' is not a number"),
    (f"{REFINE} --w-asr 0 --w-mse 0", "weights must be"),
    (f"{REFINE} --strategy epsilon_constraint", "did you mean 'epsilon-constraint'?"),
    ("refine --family ss --k 2 --epsilon 1", "k must be at least 3 for family ss"),
    ("refine --family ss --k 1e9 --epsilon 1", "the grid of omega must end at 2097152 or before, got 999999998"),
    ("refine --family ss --k 20", "Missing option '--epsilon'"),
]  # fmt: skip


def test_bad_commands_exit_with_status_two_and_one_line(call):
    assert refused(call, COMMANDS) == [], f"rows of COMMANDS in {HERE}"


def test_every_option_of_every_command_is_tried():
    missing = {}
    for name, command in commands().commands.items():
        words = {word for text, _ in COMMANDS if text.split()[0] == name for word in text.split()}
        options = [p for p in command.params if p.param_type_name == "option" and not p.is_flag]
        if lacking := {name, *(option.opts[0] for option in options)} - words:
            missing[name] = lacking
    assert not missing, f"add their wrong values to COMMANDS in {HERE}"
