"""Generate reports of any form for hypothesis."""

import hypothesis.strategies as st

CODED = [
    "00ff", "QUJDREVGRw==", '{"a":[1,2.5]}', "[1,0]", "1e5", "-17", "2024-01-02T03:04:05Z", "\ud800", "٣٤", "²",
    "[NaN, -Infinity]", "9" * 100, "[" * 3, "/p?s=1&n=-2",
]  # fmt: skip

integer = st.integers(-(2**200), 2**200) | st.sampled_from([2**63, -(2**63), 2**64 - 1, 10**400])

leaf = st.none() | st.booleans() | integer | st.floats() | st.text(max_size=12)
leaf |= st.sampled_from(CODED)

bits = st.lists(st.sampled_from([0, 1]), max_size=14)

number = st.lists(st.floats() | integer | st.booleans(), max_size=5)

tree = st.recursive(
    leaf | bits | number,
    lambda t: st.lists(t, max_size=5) | st.dictionaries(st.text(max_size=4), t, max_size=5),
    max_leaves=20,
)
