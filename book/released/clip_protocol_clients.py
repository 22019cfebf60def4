"""Describe the sketches of clip-protocol, which only `python -m ldpbook released` installs."""

import pkgutil

from clients import Released

SKETCH = {"package": "clip-protocol", "version": "2.4", "stated": "parameters of the class", "inputs": (3, 5), "trials": 8000}


def _made(place):
    import pandas as pd

    return pkgutil.resolve_name(f"clip_protocol.{place}")(1.0, 8, 64, pd.DataFrame({"user": range(8), "value": range(8)}))


def _cms():
    made = _made("count_mean.private_cms_client:privateCMSClient")
    return lambda value: (*made.client(value), made.H)  # the hash functions, which are public


def _hcms():
    made = _made("hadamard_count_mean.private_hcms_client:privateHCMSClient")
    return lambda value: (*made.client(value), made.H, made.hashes)


def _cells(y):
    signs, j, hashes = y
    return signs[hashes[j](3)] == 1 and signs[hashes[j](5)] == -1


def _sign(y):
    sign, j, row, matrix, hashes = y
    return sign == matrix[row, hashes[j](3)] != matrix[row, hashes[j](5)]


cms = Released(name="privateCMSClient", make=_cms, event=_cells, said="own cell of 3 is +, of 5 is -",
               randomness="Numba's generator", **SKETCH)  # fmt: skip
hcms = Released(name="privateHCMSClient", make=_hcms, event=_sign, said="the sign agrees with 3 and not with 5",
                randomness="Python's global generator", **SKETCH)  # fmt: skip
