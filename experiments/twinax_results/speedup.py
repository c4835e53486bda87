"""One workload with a limiter and without: how much faster it is, and what the allocator's retries cost without it."""

import math
from dataclasses import dataclass

from . import words
from .published import Published
from .statistics import Estimate
from .summary import LIMITER, Point, SweepSummary, limiter_name, ratio_of, setting


@dataclass(frozen=True)
class Speedup:
    """A point with a limiter, the same without, and the ratio of the step times without / with."""

    limited: Point
    free: Point
    ratio: Estimate
    why_not: str  # why there is no ratio
    published: list[Published]

    @property
    def limiter(self) -> str:
        return str(self.limited.values[LIMITER])

    @property
    def where(self) -> str:
        """The values on the other axes, in words; "" if there are none."""
        return ", ".join(setting(key, value) for key, value in self.limited.values.items() if key != LIMITER)


def speedups_of(summary: SweepSummary) -> list[Speedup]:
    """One for each limiter at each combination of the other axes. Empty if batches differ, since they are what fits, or if nothing is to be
    said beside what a window costs: no retries, nothing published, no other limiter."""
    if summary.sweep.fit:
        return []
    found = []
    for point in (point for point in summary.points if point.values.get(LIMITER, "none") != "none"):
        free = summary.find({**point.values, LIMITER: "none"})
        if free is not None and point.records and free.records:
            ratio, why_not = ratio_of(free, point, "cluster")
            published = [row for row in summary.sweep.published if not math.isnan(row.speedup) and row.is_of(point.values)]
            found.append(Speedup(point, free, ratio, why_not, published))
    says_more = any(one.published or one.limiter != "window" or retries_of(one.free) > 0 or retries_of(one.limited) > 0 for one in found)
    return found if says_more else []


def retries_of(point: Point) -> float:
    """A step and rank; NaN if its records don't say."""
    return point.estimate("retries").value


def retry_text(point: Point) -> str:
    """ "12 retries a step, 30.0 ms each (5.00 ms emulated)" of a rank; "" if its records don't say."""
    retries = retries_of(point)
    if math.isnan(retries):
        return ""
    cost = point.estimate("retry_seconds").value
    if retries == 0 or math.isnan(cost):
        return "no retries" if retries == 0 else f"{words.digits(retries, 2)} retries a step"
    text = f"{words.digits(retries, 2)} retries a step, {words.seconds(cost)} each"
    pace = point.wall_per_second
    return text + (f" ({words.seconds(cost / pace)} emulated)" if pace != 1 else "")


def published_text(one: Speedup) -> str:
    """ "published 2.23 (T5-11B)"; "" if nothing is."""
    rows = [f"{row.speedup:g} ({row.label})" for row in one.published]
    return f"published {words.join(rows)}" if rows else ""


def notes_of(speedups: list[Speedup]) -> list[str]:
    """A line for each combination."""
    notes = []
    for one in speedups:
        where = f" at {one.where}" if one.where else ""
        said = f"{words.ratio(one.ratio)} times as fast as without" if one.ratio.runs else f"has no ratio ({one.why_not})"
        asides = [published_text(one), *(f"{name} {text}" for name, text in (("without", retry_text(one.free)), ("with it", retry_text(one.limited))) if text)]
        tail = "; ".join(aside for aside in asides if aside)
        notes.append(f"{limiter_name(one.limiter).capitalize()}{where}: {said}" + (f"; {tail}" if tail else "") + ".")
    sources = dict.fromkeys(row.source for one in speedups for row in one.published)
    return notes + ([f"Published: {'; '.join(sources)}."] if sources else [])


def sentence(speedups: list[Speedup]) -> str:
    """The range of each limiter's speedups, and where its ends are, beside what was published."""
    parts = []
    for limiter in dict.fromkeys(one.limiter for one in speedups):
        mine = sorted((one for one in speedups if one.limiter == limiter and one.ratio.runs), key=lambda one: one.ratio.value)
        if not mine:
            continue
        ends = dict.fromkeys((f"{words.ratio(one.ratio)}" + (f" ({one.where})" if one.where else "")) for one in (mine[0], mine[-1]))
        text = f"with the {limiter_name(limiter)} a step is {' to '.join(ends)} times as fast as without"
        rows = dict.fromkeys(f"{row.speedup:g} ({row.label})" for one in mine for row in one.published)
        parts.append(text + (f", published {words.join(list(rows))}" if rows else ""))
    return "; ".join(parts)
