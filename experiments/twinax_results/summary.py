"""What a sweep says: each point's medians over its runs, and how it compares with the baseline."""

import math
import re
from dataclasses import dataclass, field

import numpy

from .load import Record, Sweep, Trial
from .statistics import NOTHING, Estimate, median_interval, ratio_of_medians

NETWORK = "net.profile"
LIMITER = "fsdp.limiter"
RANKS = "ranks"
DRIFT_LIMIT = 0.05  # of the machine's rate, from that which the dilation was fixed by
BOUND_TOLERANCE = 0.03
SPLIT = ("computing", "hidden", "exposed", "waiting")  # the parts of a step, in the order in which they are drawn


def _median(values: numpy.ndarray) -> float:
    known = values[~numpy.isnan(values)]
    return float(numpy.median(known)) if len(known) else math.nan


def figures_of(record: Record) -> dict[str, float]:
    """One run's figures: medians over its steps after the warm-up, times by the wall clock; peaks over all its steps."""
    seconds = record.measured("seconds")
    compute = record.measured("compute_seconds")
    hidden = record.measured("hidden_communication_seconds")
    exposed = record.measured("exposed_communication_seconds")
    return {
        "wall": _median(seconds),
        "cluster": _median(seconds) / record.wall_per_second,
        "tokens_per_second": _median(record.measured("tokens") / seconds) * record.wall_per_second * record.environment["token_factor"],
        "bound_ratio": _median(seconds / record.measured("lower_bound_seconds")),
        "computing": _median(compute - hidden),
        "hidden": _median(hidden),
        "exposed": _median(exposed),
        "waiting": _median(numpy.maximum(seconds - compute - exposed, 0)),
        "bound": _median(record.measured("lower_bound_seconds")),
        "memory_bytes": float(record.steps["memory_peak_bytes"].max()),
        "in_flight_bytes": float(record.steps["in_flight_bytes_peak"].max()),
        "in_flight_units": float(record.steps["in_flight_peak"].max()),
        **_retries_of(record),
    }


def _retries_of(record: Record) -> dict[str, float]:
    """How often a rank waited for memory in a step, and how long it stood still for it each time; NaN where a record doesn't say."""
    if "allocator_retries" not in record.steps:
        return {"retries": math.nan, "retry_seconds": math.nan}
    retries = float(record.measured("allocator_retries").sum()) / record.environment["ranks"]
    stalled = float(numpy.nansum(record.measured("allocator_stalled_seconds")))  # of the rank that stood still the longest
    steps = len(record.measured("seconds"))
    return {"retries": retries / steps if steps else math.nan, "retry_seconds": stalled / retries if retries > 0 else math.nan}


@dataclass
class Point:
    """A point of a sweep. Figures are by run (repeat); estimates are over runs."""

    values: dict
    records: list[Record]
    by_repeat: dict[str, dict[int, float]] = field(default_factory=dict)
    slowdown: Estimate = NOTHING  # against the baseline, on as many ranks
    efficiency: Estimate = NOTHING  # tokens/s a rank, against the baseline
    no_ratio: str = ""  # why there is no slowdown
    is_reference: bool = False
    fitted: int | None = None  # the value found for the key that was to fit
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self):
        for record in self.records:
            for name, value in figures_of(record).items():
                self.by_repeat.setdefault(name, {})[record.repeat] = value

    def estimate(self, name: str) -> Estimate:
        """The median of a figure over runs."""
        return median_interval(self.by_repeat.get(name, {}).values())

    @property
    def runs(self) -> int:
        return len(self.records)

    @property
    def ranks(self) -> int:
        return self.records[0].environment["ranks"] if self.records else int(self.values.get(RANKS, 0))

    @property
    def network(self) -> str:
        """The emulated network; "none" is the machine's own."""
        if NETWORK in self.values:
            return str(self.values[NETWORK])
        return (self.records[0].environment["network"] if self.records else "") or "none"

    @property
    def wall_per_second(self) -> float:
        """As its records'."""
        return self.records[0].wall_per_second if self.records else 1.0

    @property
    def is_oversubscribed(self) -> bool:
        return any("oversubscribed" in record.flags for record in self.records)

    @property
    def drift(self) -> float:
        """The largest drift of its runs; NaN if there are none."""
        return max((record.dilation_drift for record in self.records), key=abs, default=math.nan)

    @property
    def has_drifted(self) -> bool:
        return abs(self.drift) > DRIFT_LIMIT

    @property
    def beats_its_bound(self) -> bool:
        """Whether the lower bound is no bound: its computing was timed at another rate than the steps ran at."""
        return self.estimate("bound_ratio").value < 1 - BOUND_TOLERANCE

    @property
    def label(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.values.items())

    @property
    def ran_out(self) -> str:
        """That its memory budget doesn't hold it, if so."""
        if self.fitted is not None or not self.trials or self.trials[-1].outcome == "fits":
            return ""
        if self.trials[-1].value < 0:
            return "out of memory" + self._why
        last = self.trials[-1]
        return f"nothing fits: {last.outcome} at {last.value}" + (f" ({last.retries})" if last.outcome == "retries" else self._why)

    @property
    def _why(self) -> str:
        """What did not fit at last."""
        reason = " ".join(self.trials[-1].reason.split())
        return f": {reason}" if reason else ""

    @property
    def notes(self) -> list[str]:
        """What the reader must know of it alone."""
        notes = []
        if self.ran_out:
            notes.append(self.ran_out)
        elif self.runs == 0:
            notes.append("no complete run")
        elif not self.estimate("wall").has_interval:
            notes.append(f"too few runs ({self.runs}) for an interval")
        if self.is_oversubscribed:
            notes.append("oversubscribed: more ranks than cores")
        if self.no_ratio and not self.is_oversubscribed and self.runs > 0:
            notes.append(f"no ratio: {self.no_ratio}")
        return notes


class SweepSummary:
    """A sweep's points with their ratios."""

    def __init__(self, sweep: Sweep):
        self.sweep = sweep
        self.points = [Point(values, [r for r in sweep.records if r.point == values]) for values in sweep.points]
        for point in self.points:
            point.trials = [trial for trial in sweep.trials if trial.point == point.values]
            point.fitted = max((trial.value for trial in point.trials if trial.outcome == "fits"), default=None)
        for point in self.points:
            self._compare(point)

    def find(self, values: dict) -> Point | None:
        return next((point for point in self.points if point.values == values), None)

    def reference_of(self, point: Point) -> Point | None:
        """What the point's slowdown refers to: the baseline, on as many ranks."""
        same = {key: value for key, value in self.sweep.baseline.items() if key != RANKS}
        return self.find({**point.values, **same}) if self.sweep.baseline else None

    def _fewest_ranks_of(self, reference: Point | None) -> Point | None:
        """What efficiency refers to: the baseline on its ranks, or on the fewest if it names none."""
        if reference is None or RANKS not in reference.values:
            return reference
        return self.on_ranks(reference, self.sweep.baseline.get(RANKS, min(point.values[RANKS] for point in self.points)))

    def on_ranks(self, point: Point, ranks: int) -> Point | None:
        """The same on so many ranks. One rank uses no network, and is run over the first alone."""
        base = {**point.values, RANKS: ranks}
        if ranks == 1:
            base |= {key: value for key, value in self.points[0].values.items() if key.startswith(("net.", "collective."))}
        return self.find(base)

    def _compare(self, point: Point) -> None:
        reference = self.reference_of(point)
        point.is_reference = reference is point
        point.slowdown, point.no_ratio = ratio_of(point, reference, "cluster")
        base = self._fewest_ranks_of(reference)
        if base is not None and base.ranks and point.ranks:
            rate, _ = ratio_of(point, base, "tokens_per_second")
            point.efficiency = rate.scaled(base.ranks / point.ranks)

    @property
    def networks(self) -> list[str]:
        """The networks, in the order of the axis."""
        return list(dict.fromkeys(point.network for point in self.points))

    @property
    def is_emulated(self) -> bool:
        return any(record.is_emulated for record in self.sweep.records)

    @property
    def is_scaling(self) -> bool:
        return len({point.ranks for point in self.points if point.records}) > 1

    @property
    def has_limiters(self) -> bool:
        """Whether points differ by the limiter alone."""
        return {"none", "window"} <= {str(point.values.get(LIMITER)) for point in self.points}

    def flags(self) -> list[str]:
        """What the reader must know of the points, in sentences."""
        lines = [f"{point.label}: {note}." for point in self.points for note in point.notes]
        drifted = [point for point in self.points if point.has_drifted]
        if drifted:
            most = max((point.drift for point in drifted), key=abs)
            lines.append(f"Flagged: the machine's rate drifted by more than {DRIFT_LIMIT:.0%} (at most {most:+.0%}) in {self._names(drifted)}.")
        beaten = [point for point in self.points if point.beats_its_bound]
        if beaten:
            lines.append(f"Flagged: the lower bound does not hold in {self._names(beaten)}: computing was timed while the machine was slower.")
        return lines

    def _names(self, points: list[Point]) -> str:
        return "all points" if len(points) == len(self.points) else ", ".join(point.label for point in points)

    @property
    def stands_for(self) -> str:
        """What the widest points stand for: the index's word, or that of their records."""
        measured = [point for point in self.points if point.records]
        text = self.sweep.stands_for
        if measured:
            text = max(measured, key=lambda point: point.ranks).records[0].stands_for or text
        return re.sub(r", \d+ (tokens a node|sequences an accelerator) and step", "", text) if self.sweep.fit else text  # it differs by point

    def limiter_pairs(self) -> list[tuple[Point, Point, Estimate]]:
        """(window, none, ratio of the step times none / window) of points that differ by the limiter alone."""
        pairs = []
        for window in self.points:
            if window.values.get(LIMITER) != "window":
                continue
            free = self.find({**window.values, LIMITER: "none"})
            if free is not None and window.records and free.records:
                pairs.append((window, free, ratio_of(free, window, "cluster")[0]))
        return pairs

    def series_of(self, point: Point, without: tuple[str, ...] = (NETWORK,)) -> str:
        """The point's values on the other axes, as a label."""
        return ", ".join(setting(key, value) for key, value in point.values.items() if key not in without)


def limiter_name(limiter: str) -> str:
    return "no limiter" if limiter == "none" else f"{limiter} limiter"


def setting(key: str, value) -> str:
    """One value of an axis, in words."""
    if key == LIMITER:
        return limiter_name(str(value))
    if key == RANKS:
        return "1 rank" if value == 1 else f"{value} ranks"
    return f"{key} {str(value).lower() if isinstance(value, bool) else value}"


def ratio_of(point: Point, reference: Point | None, name: str) -> tuple[Estimate, str]:
    """point / reference, or why there is none."""
    if reference is None:
        return NOTHING, "no baseline"
    if not point.records or not reference.records:
        return NOTHING, "no complete run of the baseline" if point.records else "no complete run"
    if point.is_oversubscribed or reference.is_oversubscribed:
        return NOTHING, "oversubscribed" if point.is_oversubscribed else "the baseline is oversubscribed"
    ratio = ratio_of_medians(point.by_repeat[name], reference.by_repeat[name])
    return ratio, "" if ratio.runs else "no repeat in common with the baseline"
