"""Any Python callable as a mechanism, for audits of other packages."""

import copy
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import checks, digests
from ...mechanisms.base import MAX_DOMAIN, ClientError, Mechanism, NoClientError
from ...progress import count_begun
from ...reports import Bits, ReportType, Subset, Value
from ...types import Array, ArrayLike, Input, Reports, Rng, Row, Word
from .anything import Anything
from .arrivals import arrived, timed
from .identity import origin
from .process import Process
from .program import Program

__all__ = ["Client", "SeparateClient"]


FORMS: dict[str, Callable[[int], ReportType]] = {
    cls.name: cls for cls in (Value, Bits, Subset, Anything)
}
"""The report types that a client may send, by name."""


ON_ERROR = ("stop", "report")
"""Names of the two ways to treat an error of a client, see `Client`."""


_MESSAGE_LENGTH = 200  # characters of an error's message in a report
_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Client(Mechanism):
    """A callable under audit.

    Parameters
    ----------
    function : callable
        Either ``f(values, rng) -> reports`` or ``f(value) -> report``. The first gets an int array
        of n users' values and a `numpy.random.Generator`, and returns n reports. The second reports
        for one user; then the client has its own randomness, so a seed does not repeat the audit.
    k : int, optional
        Domain size; values are ``0..k-1``. It is not given if `values` are.
    report : {"value", "bits", "subset", "any"}
        Report type: one integer, k bits, a collection of distinct values, or anything that JSON can
        write. The order of a collection is kept, but a ``set`` has no order and is sorted. For
        ``"any"`` see `ldpkit.blackbox.clients.anything.plain`.
    epsilon, delta : float
        The guarantee that the client claims. An epsilon of 0 claims that reports do not depend on
        the input at all, as for one share of a secret.
    name : str
        Name of the client in results.
    values : sequence, optional
        Inputs of the client, of any type, if reports are of type ``"any"``. Each call gets copies.
        A pair selects two inputs by their positions. Such clients are called with a list of n
        users' values, or with one value.
    on_error : {"stop", "report"}
        Treatment of a failed call: stop the audit, or count the error as a report of type
        ``"any"``. A call fails if the client raises an exception, does not answer in time, or
        returns something that is not a report. With ``"report"`` the client is called for one
        report at a time.
    ignore : sequence of str
        Names of fields that do not count, of reports that are dictionaries.
    time : bool
        Whether a report of type ``"any"`` also tells how long the call took, and how many answers
        came, see `ldpkit.blackbox.clients.arrivals`. The client is then called for one report at a
        time. ``f(values, rng)`` may return several answers, or none. ``f(value)`` may return an
        iterator, and a program may write several lines.
    """

    foreign: ClassVar[bool] = True

    function: Callable[..., Reports]
    k: Annotated[int, checks.rule(checks.integer, 2, MAX_DOMAIN)] = 0
    report: Annotated[str, checks.rule(checks.one_of, FORMS)] = "any"
    epsilon: checks.NonNegative = math.nan
    delta: Annotated[float, checks.rule(checks.real, 0, 1, closed="[)")] = 0.0
    name: str = "client"
    values: Sequence[Input] | None = None
    on_error: str = "stop"
    ignore: Sequence[str] = ()
    time: Annotated[bool, checks.flag] = False

    def __post_init__(self) -> None:
        checks.one_of("on_error", self.on_error, ON_ERROR if self.report == "any" else ON_ERROR[:1])
        if self.values is not None or self.ignore or self.time:
            checks.one_of("report", self.report, ["any"])
        if self.values is not None:
            lists = list, tuple, range, np.ndarray
            values = tuple(checks.instance("values", self.values, lists, "a list"))
            for i, value in enumerate(values):
                checks.need(
                    not any(
                        np.array_equal(value, other)
                        and repr(value) == repr(other)  # as 0 and -0.0 do
                        for other in values[:i]
                    ),
                    f"values must differ, got {value!r} twice",
                )
            checks.need(
                self.k in (0, len(values)),
                f"k must be left out if values are given, got {self.k!r}",
            )
            checks.fix(self, values=values, k=len(values))
        super().__post_init__()
        checks.need(
            callable(self.function), f"client must be callable, got {self.function!r}", ClientError
        )

    @classmethod
    def imported(cls, path: str, **parameters: Word) -> "Client":
        """Return the client ``"module:function"``, whose name is this text; `parameters` are the
        other fields."""
        wanted = [field.name for field in fields(Client) if field.name not in ("function", "name")]
        for name in parameters:
            checks.one_of("parameter of a client", name, wanted)
        return Client(digests.load(path, ClientError), name=path, **parameters)

    @property
    def report_type(self) -> ReportType:
        """The form of a report; its exact distribution is unknown."""
        return FORMS[self.report](self.k)

    def read(self, reports: Reports) -> Array:
        """Return the reports unchanged, because `perturb` has checked them already."""
        return checks.unmasked("reports", reports)

    @property
    def called(self) -> str:
        """Name of the client in error messages."""
        return "client" if self.name == "client" else f"client {self.name}"

    @functools.cached_property
    def batched(self) -> bool:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError) as error:
            raise ClientError(
                "client has no readable signature; wrap it in a Python function f(values, rng)"
            ) from error
        free = [p for p in signature.parameters.values() if p.kind in _POSITIONAL]
        needed = sum(p.default is p.empty for p in free)
        batched = needed == 2 or (needed < 2 and [p.name for p in free[1:2]] == ["rng"])
        checks.need(
            batched or needed == 1,
            f"client must take (values, rng) or (value), its signature is {signature}",
            ClientError,
        )
        return batched

    @property
    def parameters(self) -> Row:
        given = {"k": self.k, "epsilon": self.epsilon, "delta": self.delta, "report": self.report}
        given |= {} if self.on_error == ON_ERROR[0] else {"on_error": self.on_error}
        given |= {"ignore": [*self.ignore]} if self.ignore else {}
        given |= {"time": True} if self.time else {}
        return given if self.values is None else given | {"values": [*map(repr, self.values)]}

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Call the client and return its reports, checked.

        Raises
        ------
        ClientError
            If the client raises an exception, changes its input array, or returns something of the
            wrong length, shape or range, or NaN.
        """
        values = checks.values(values, self.k)
        if self.on_error != ON_ERROR[0]:
            return self._reports_or_errors(values, rng)
        inputs: Reports = values.copy() if self.batched else values.tolist()
        if self.values is not None:  # each call gets copies, which the client may change
            inputs = [copy.deepcopy(self.values[v]) for v in values]
        try:
            if self.time:
                reports = [self._timed(inputs[i : i + 1], rng) for i in range(len(inputs))]
            elif self.batched:
                reports = self.function(inputs, rng)
            else:
                reports = [self._single_report(value) for value in inputs]
        except NoClientError:
            raise
        except (Exception, SystemExit) as error:
            known = isinstance(error, ClientError)
            raised = "" if known else f"{self.called} raised {type(error).__name__}: "
            advice = "; --on-error report takes that for a report" if self.report == "any" else ""
            raise ClientError(f"{raised}{error}{advice}") from (error.__cause__ or error)
        checks.need(
            self.values is not None or np.array_equal(inputs, values),
            f"{self.called} changed its input array; reports of different users must not"
            " share memory",
            ClientError,
        )
        got = len(reports) if hasattr(reports, "__len__") else type(reports).__name__
        self._need(got == len(values), f"{len(values)} reports", got)
        self._need(not checks.masked(reports), "reports without a mask", "masked ones")
        return self._checked_reports(reports)

    @property
    def restarts(self) -> int:
        return max(0, self.function.starts - 1) if isinstance(self.function, Program) else 0

    @property
    def digest(self) -> str:
        """Digest of the code, program or files of the client."""
        return digests.digest(self.origin())[:16]

    def origin(self, known: Row | None = None) -> Row:
        """Return what identifies the code behind the client, see `identity`."""
        return origin(self.function)

    def _single_report(self, value: Input) -> Reports:
        asked: Any = self.function
        if self.report == "any" and isinstance(asked, Program):
            asked = asked.line
        report = asked(value)
        count_begun()
        # read before the next call, which may use the same memory
        return self._checked_reports([report])[0] if self.report == "any" else report

    def _timed(self, one: Any, rng: Rng) -> Any:
        """Return the answers for the value of `one` user, with their time."""
        late, function = 0, self.function
        if isinstance(function, Program):
            answers = function.lines(one[0])
            seconds, late = function.seconds, function.late
        else:
            given = (one, rng) if self.batched else (one[0],)
            answers, seconds = timed(functools.partial(function, *given), self.batched)
        count_begun()
        none = isinstance(answers, list) and not answers
        return arrived([] if none else [*self._checked_reports(answers)], seconds, late)

    def _reports_or_errors(self, values: Array, rng: Rng) -> Array:
        """Return one report for each value, or a dictionary about the error."""
        strict = replace(self, on_error=ON_ERROR[0])
        reports = np.empty(len(values), object)
        for i in range(len(values)):
            try:
                reports[i] = strict.perturb(values[i : i + 1], rng)[0]
            except NoClientError:
                raise
            except ClientError as error:
                cause = error.__cause__ or error
                said = getattr(cause, "said", "") or str(error)
                reports[i] = {"error": type(cause).__name__, "said": said[:_MESSAGE_LENGTH]}
        return reports

    def _need(self, holds: object, wanted: str, got: object) -> None:
        checks.need(holds, f"{self.called} must return {wanted}, got {got}", ClientError)

    def _checked_reports(self, reports: Reports) -> Array:
        """Return reports as an array of the client's report type."""
        if self.report == "any":
            try:
                found = self.report_type.read(reports, self.called)
            except ValueError as error:
                raise ClientError(str(error)) from None
            for i, report in enumerate(found if self.ignore else ()):
                value = getattr(report, "value", report)  # of a program's line
                if isinstance(value, dict):
                    found[i] = {name: x for name, x in value.items() if name not in self.ignore}
            return found
        if self.report == "subset":
            return self._subsets(reports)
        below, each, wanted, dtype = (
            (2, (self.k,), f"{self.k} bits per user", np.uint8)
            if self.report == "bits"
            else (self.k, (), f"one integer in 0..{self.k - 1} per user", np.int64)
        )
        return self._integers(reports, below, wanted, each).astype(dtype)

    def _integers(
        self, reports: Reports, below: int, wanted: str, each: tuple[int, ...] = ()
    ) -> Array:
        """Return reports of the shape `each` as an array, whose entries are whole numbers in
        ``0..below-1``."""
        try:
            array = np.asarray(reports)
        except ValueError as error:
            raise ClientError(
                f"{self.called} must return {wanted}, got ragged reports ({error})"
            ) from None
        self._need(array.shape[1:] == each, wanted, f"shape {array.shape}")
        self._need(array.dtype.kind in "biuf", wanted, f"an array of {array.dtype}")
        # NaN fails every comparison
        bad = array[~((array >= 0) & (array < below) & (array == np.floor(array)))]
        self._need(not bad.size, wanted, next(iter(bad), None))
        return array

    def _subsets(self, reports: Reports) -> Array:
        wanted = f"a collection of distinct values in 0..{self.k - 1} per user"
        self._need(not any(isinstance(row, (str, bytes)) for row in reports), wanted, "text")
        try:
            rows = [sorted(row) if isinstance(row, (set, frozenset)) else [*row] for row in reports]
        except TypeError as error:
            raise ClientError(
                f"{self.called} must return {wanted}, got something else ({error})"
            ) from None
        values, sizes = [value for row in rows for value in row], [len(row) for row in rows]
        out = np.full((len(rows), max([1, *sizes])), -1, np.int64)
        held = np.arange(out.shape[1]) < np.array(sizes, int)[:, None]
        out[held] = self._integers(values, self.k, wanted)
        self._need(all(len({*row}) == len(row) for row in rows), wanted, "a repeated value")
        return out


@dataclass(frozen=True)
class SeparateClient(Client):
    """A client whose `function` is the process that imports and calls it."""

    function: Process

    @classmethod
    def of(cls, path: str, threads: int = 1, **fields: Word) -> "SeparateClient":
        """Return the client ``"module:function"``, of which so many `threads` may ask at a time;
        the other `fields` are those of `Client`.

        Raises
        ------
        ClientError
            If the client cannot be imported.
        """
        make = functools.partial(Client.imported, path, **fields)
        return cls(Process(f"client {path}", make, threads), name=path, **fields)

    @functools.cached_property
    def batched(self) -> bool:
        return self.function.batched

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return the client's reports; the generator goes on from where the client left it."""
        reports, rng.bit_generator.state = self.function(_perturb, values, rng)
        return reports

    def origin(self, known: Row | None = None) -> Row:
        return dict(self.function(Client.origin))


def _perturb(client: Client, values: ArrayLike, rng: Rng) -> tuple[Array, Any]:
    return client.perturb(values, rng), rng.bit_generator.state
