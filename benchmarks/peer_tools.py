"""Run one auditor on one client, and print what it says.

`peers.py` calls this file with the Python of each auditor. It needs numpy and that auditor only::

    python benchmarks/peer_tools.py TOOL CLIENT SEED
"""

import importlib.metadata
import json
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

ALPHA = 0.01
MOST = 10**6  # reports of an input
SECONDS = 120  # of a processor, without the time of imports


def parity3_bits(x, n, rng):
    """Send two random bits, and a third one that makes their sum odd if the input is 1."""
    bits = rng.integers(0, 2, (n, 2))
    return np.column_stack([bits, bits.sum(1) % 2 ^ x])


def towards_zero2638(x, n, rng):
    """Add Laplace noise that is rounded towards zero, so that 0 has the mass of two integers."""
    return x + np.trunc(rng.laplace(0, 1, n)).astype(int)


def floor2638(x, n, rng):
    """Add Laplace noise that is rounded down, which keeps its loss of 1."""
    return x + np.floor(rng.laplace(0, 1, n)).astype(int)


def vector_l2(x, n, rng):
    """Add noise for a distance of sqrt(2) to vectors whose absolute differences sum to 2."""
    return (np.eye(4)[x] + rng.laplace(0, np.sqrt(2), (n, 4))).round(6)


def eps_005_009(x, n, rng):
    """Answer by randomised response at 0.09."""
    return x ^ (rng.random(n) < 1 / (1 + np.exp(0.09)))


def gauss316(x, n, rng):
    """Add half the Gaussian noise that (1, 1e-5) needs."""
    return (x + rng.normal(0, 1.85, n)).round(3)


@dataclass(frozen=True)
class Case:
    """A client whose inputs 0 and 1 are compared: `send` returns n reports (n,) or (n, d)."""

    send: Any
    epsilon: float
    delta: float = 0.0
    keeps: bool = False


CASES = {
    case.send.__name__: case
    for case in (
        Case(parity3_bits, 1.0),
        Case(towards_zero2638, 1.0),
        Case(vector_l2, 1.0),
        Case(eps_005_009, 0.05),
        Case(gauss316, 1.0, 1e-5),
        Case(floor2638, 1.0, keeps=True),
    )
}


class Asked:
    """A client that counts its reports.

    Parameters
    ----------
    case : Case
    seed : int
    """

    def __init__(self, case, seed):
        self.case, self.rng, self.reports = case, np.random.default_rng(seed), 0

    def __call__(self, x, n):
        self.reports += n
        return self.case.send(int(x), n, self.rng)


def ldpkit(asked, seed):
    """Bet against the claim, and stop as soon as it is refuted.

    The input of each report is drawn by a coin, so that one of them may be asked a little more
    often.
    """
    from ldpkit import Client
    from ldpkit.blackbox.sequential import SequentialAudit

    def client(values, rng):
        asked.reports += len(values)
        values, sent = np.asarray(values), [None] * len(values)
        for x in (0, 1):
            at = np.flatnonzero(values == x)
            for i, report in zip(at, asked.case.send(x, len(at), rng).tolist()):
                sent[i] = report
        return sent

    claim = {"epsilon": asked.case.epsilon, "delta": asked.case.delta}
    target = Client(client, report="any", values=[0, 1], **claim)

    def run():
        given = {"alpha": ALPHA, "trials": MOST, "max_time": 0.9 * SECONDS, "explain": 0.0}
        result = SequentialAudit(target, "learned", **given).run(seed)[0]
        return result.violated, None

    return run


def dp_auditorium(asked, seed):
    """Test the hockey-stick divergence with the settings of the tool's own example.

    Its 10,000 reports of an input come first. If they do not refute the claim, the rest of the
    budget is tested. Each of the two tests has half of alpha.
    """
    import tensorflow as tf
    from dp_auditorium import privacy_test_runner as runner
    from dp_auditorium.configs import privacy_property, property_tester_config
    from dp_auditorium.configs import privacy_test_runner_config as configs
    from dp_auditorium.testers import hockey_stick_tester as stick

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(seed)
    claim = privacy_property.ApproximateDp(asked.case.epsilon, asked.case.delta)
    tester = stick.HockeyStickPropertyTester(
        property_tester_config.HockeyStickPropertyTesterConfig(
            training_config=stick.make_default_hs_training_config(), approximate_dp=claim
        ),
        stick.make_default_hs_base_model(),
    )

    def test(samples):
        settings = configs.PrivacyTestRunnerConfig(
            property_tester=configs.PropertyTester.HOCKEY_STICK_TESTER,
            max_num_trials=1,  # there is one pair of inputs
            failure_probability=ALPHA / 2,
            num_samples=samples,
            post_processing=configs.PostProcessing.TANH,
        )
        test = runner.PrivacyTestRunner(settings, lambda last: (0, 1), tester)
        result = test.test_privacy(asked, asked.case.send.__name__)
        bound = float(max(result.lower_bound_divergence_estimates))
        return result.found_privacy_violation is not None, bound

    def run():
        found, bound = test(10_000)
        return (found, bound) if found else test(MOST - 10_000)

    return run


def statdp(asked, seed):
    """Choose an event and test it, with the numbers of reports of `detect_counterexample`.

    The tool calls an algorithm once for each report, and calls it in processes. Here a thread does
    so, which counts the reports, and takes them from a supply made in pieces.
    """
    from multiprocessing.pool import ThreadPool

    from statdp import hypothesis_test, select_event

    supply = {0: [], 1: []}

    def algorithm(prng, queries, epsilon):
        (x,) = queries
        if not supply[x]:
            supply[x] = asked.case.send(x, 10_000, asked.rng).tolist()
        asked.reports += 1
        return supply[x].pop()

    def run():
        epsilon = asked.case.epsilon
        pairs = (([0], [1], {"epsilon": epsilon}),)
        with ThreadPool(1) as pool:
            chosen = select_event(algorithm, pairs, epsilon, 100_000, pool, quiet=True)
            test = hypothesis_test(algorithm, *chosen, epsilon, 500_000, pool, report_p2=False)
        return test <= ALPHA, float(test)

    np.random.seed(seed)  # noqa: NPY002, the tool draws from it
    return run


def dp_sniper(asked, seed, network):
    """Train a classifier, and bound epsilon by the threshold event of its better direction.

    The recommended numbers of reports sum to more than the budget. All of them are smaller here by
    about the same factor, and so is the batch, which keeps the number of steps.
    """
    import torch
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers import classifier_factory as factories
    from dpsniper.classifiers import torch_optimizer_factory as optimizers
    from dpsniper.mechanisms.abstract import Mechanism
    from dpsniper.probability.estimators import EpsEstimator, PrEstimator
    from dpsniper.search.ddconfig import DDConfig
    from dpsniper.search.ddwitness import DDWitness
    from dpsniper.utils.paths import set_output_directory
    from dpsniper.utils.torch import torch_initialize

    class Client(Mechanism):
        def m(self, a, n_samples=1):
            return asked(a[0], n_samples).astype(float)

    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002, the tool draws from it
    torch_initialize(torch_threads=1)
    part = MOST // 25  # 5 parts of an input are spent before the last 20
    config = DDConfig(
        n_train=part, n=part, n_check=part, n_final=20 * part, training_batch_size=part // 107,
        n_processes=1, confidence=1 - ALPHA,
    )  # fmt: skip
    client, width = Client(), np.atleast_2d(asked.case.send(0, 2, asked.rng).T).shape[0]
    common = {"in_dimensions": width, "epochs": 10}
    if network:
        factory = factories.MultiLayerPerceptronFactory(
            hidden_sizes=(10, 5), regularization_weight=0.0001,
            optimizer_factory=optimizers.AdamOptimizerFactory(0.1, 500), **common,
        )  # fmt: skip
    else:
        factory = factories.LogisticRegressionFactory(
            regularization_weight=0.001,
            optimizer_factory=optimizers.SGDOptimizerFactory(0.3, 0.3, 500), **common,
        )  # fmt: skip

    def run():
        tried = []
        with tempfile.TemporaryDirectory() as folder:
            set_output_directory(folder)
            for pair in ((np.array([0]), np.array([1])), (np.array([1]), np.array([0]))):
                attack = DPSniper(client, factory, config).best_attack(*pair)
                tried.append(DDWitness(*pair, attack))
                estimator = EpsEstimator(PrEstimator(client, config.n_check, config))
                tried[-1].compute_eps_using_estimator(estimator)
            best = max(tried)
            final = EpsEstimator(PrEstimator(client, config.n_final, config))
            best.compute_eps_using_estimator(final)
        bound = float(best.lower_bound)
        return bound > asked.case.epsilon, bound

    return run


@dataclass(frozen=True)
class Tool:
    """An auditor.

    Parameters
    ----------
    prepare : callable
        ``f(asked, seed)`` imports the auditor, and returns a function that runs it and returns
        whether it finds a violation, and its number.
    package : str
        Name of its distribution.
    number : str
        Meaning of its number.
    settings : str
    deltas : bool
        Whether it can take a claim with a delta.
    """

    prepare: Any
    package: str
    number: str
    settings: str
    deltas: bool = True


SNIPER = "40,000 reports for each of three steps, 800,000 at last (its own: 10.7 and 200 million), "
TOOLS = {
    "ldpkit": Tool(ldpkit, "ldpkit", "", "10^6 reports of an input at most, alpha .01"),
    "dp_auditorium": Tool(
        dp_auditorium,
        "dp-auditorium",
        "delta at least {:.3g}",
        "its example's hockey-stick test of 10,000 reports of an input, then of the rest of 10^6, "
        "failure probability .005 each",
    ),
    "StatDP": Tool(
        statdp, "statdp", "p = {:.3g}", "its defaults, 600,000 reports of an input, p <= .01", False
    ),
    "DP-Sniper, regression": Tool(
        lambda asked, seed: dp_sniper(asked, seed, False),
        "dpsniper", "epsilon at least {:.3g}", SNIPER + "confidence .99, regression", False,
    ),
    "DP-Sniper, network": Tool(
        lambda asked, seed: dp_sniper(asked, seed, True),
        "dpsniper", "epsilon at least {:.3g}", SNIPER + "confidence .99, network", False,
    ),
}  # fmt: skip


def version(package):
    """Return the release of a distribution, and its commit where it was installed from one."""
    found = importlib.metadata.distribution(package)
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    commit = origin.get("vcs_info", {}).get("commit_id", "")
    return f"{found.version} ({commit[:7]})" if commit else found.version


def limited():
    """End this process when it has used `SECONDS` more of a processor."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS + 1,) * 2)


def measured(tool, name, seed, begin=limited):
    """Return what one auditor says of one client.

    Parameters
    ----------
    tool, name : str
        Names in `TOOLS` and `CASES`.
    seed : int
    begin : callable
        What is called after the imports, before the audit.

    Returns
    -------
    dict
        `found`, the tool's `number`, `reports` of an input, and `seconds` of a processor.
    """
    asked = Asked(CASES[name], seed)
    run = TOOLS[tool].prepare(asked, seed)
    begin()
    before = time.process_time()
    found, number = run()
    seconds = round(time.process_time() - before, 3)
    return {"found": bool(found), "number": number, "reports": asked.reports / 2,
            "seconds": seconds, "version": version(TOOLS[tool].package)}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
