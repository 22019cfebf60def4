"""Describe Flower's client-side mechanism for one number, which needs no server and no network."""

import logging
from dataclasses import replace

import numpy as np
from clients import Released


def _mod(epsilon=1.0, delta=1e-5):
    vars(np).setdefault("float_", np.float64)  # the name that NumPy 1 had and 1.8.0 asks for
    from flwr.client.mod import LocalDpMod
    from flwr.common import Code, FitIns, FitRes, Message, MessageType, Metadata, Status
    from flwr.common import ndarrays_to_parameters as packed
    from flwr.common import parameters_to_ndarrays as unpacked
    from flwr.common.recordset_compat import fitins_to_recordset, fitres_to_recordset, recordset_to_fitres

    logging.getLogger("flwr").setLevel(logging.WARNING)  # it logs each report
    mod = LocalDpMod(1.0, 1.0, epsilon, delta)
    about = Metadata(1, "", 0, 0, "", "", 3600.0, MessageType.TRAIN)
    model = fitins_to_recordset(FitIns(packed([np.zeros(1)]), {}), keep_input=True)

    def client(value):
        trained = FitRes(Status(Code.OK, ""), packed([np.array([value])]), 1, {})
        answer = Message(about, fitres_to_recordset(trained, keep_input=True))
        sent = mod(Message(about, model), None, lambda message, context: answer)  # no context: nothing reads it
        return float(unpacked(recordset_to_fitres(sent.content, keep_input=True).parameters)[0][0])

    return client


def model(value, rng, mended=False):
    """Return a report of the released client, which draws noise but does not add it; the mended client adds the noise."""
    noise = rng.normal(0, np.sqrt(2 * np.log(1.25e5)))
    return value + noise if mended else value


local_dp = Released(
    package="flwr",
    version="1.13.1",
    name="LocalDpMod(1, 1, epsilon=1, delta=1e-5)",
    make=_mod,
    inputs=(0.5, -0.5),
    event=lambda report: report == 0.5,
    said="the report is the update 0.5 itself (0.5 against -0.5)",
    claim=1.0,
    delta=1e-5,
    stated="docstring of the class, and the line it logs for each report",
    law=(1.0, 0.0),
    source="flwr/client/mod/localdp_mod.py, lines 136-141: the noised copy is dropped",
    fixed_in="1.14.0",
    thread="flower, pull request 4677",
    randomness="NumPy's global generator",
    trials=3000,
    model=model,
)
first = replace(local_dp, version="1.8.0")
mended = replace(local_dp, version="1.14.0", law=None, source="", model=None,
                 undecided="the release that sends the noise; the event of the older ones alone was asked about")  # fmt: skip
