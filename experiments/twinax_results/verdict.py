"""One sentence that answers the question: which network does this training need?"""

from . import words
from .chain import batch_sentence, chain_of
from .speedup import sentence, speedups_of
from .summary import LIMITER, NETWORK, RANKS, Point, SweepSummary

SAME = 1.05  # "as fast as": the whole interval lies below


def verdict_of(summary: SweepSummary) -> str:
    """What each network costs against the baseline, what the limiter changes, and what the emulation stands for."""
    made = chain_of(summary)
    if made is not None and (said := [part for part in (batch_sentence(made), made.conclusion()) if part]):
        return f"{_subject(summary)}: {'; '.join(said)}."
    compared = _compared(summary)
    speedups = sentence(speedups_of(summary))
    if speedups and NETWORK not in summary.sweep.axes:
        return f"{_subject(summary)}: {speedups}."
    if not compared:
        return f"{_subject(summary)}: no verdict, since no point has a ratio to a baseline ({_why(summary)})."
    reference = summary.reference_of(compared[0])
    parts = [_part(summary, point, _name(summary, reference)) for point in compared]
    return f"{_subject(summary)}: {'; '.join([*parts, *_limiter(summary, reference), *_scaling(summary)])}."


def _subject(summary: SweepSummary) -> str:
    if not summary.is_emulated:
        return "Measured on the machine's own network"
    return f"Emulated ({summary.stands_for})" if summary.stands_for else "Emulated"


def _why(summary: SweepSummary) -> str:
    reasons = list(dict.fromkeys(point.no_ratio for point in summary.points if point.no_ratio))
    return reasons[0] if reasons else "the baseline is the only point"


def _compared(summary: SweepSummary) -> list[Point]:
    """The points to speak of: those that have a ratio and differ from the baseline by the network alone, on the most ranks that were tried."""
    ratios = [point for point in summary.points if point.slowdown.runs and not point.is_reference]
    if any(NETWORK in point.values for point in ratios):
        fixed = {key: value for key, value in summary.sweep.baseline.items() if key not in (NETWORK, RANKS)}
        alone = [p for p in ratios if all(p.values.get(key) == value for key, value in fixed.items())]
        ratios = [p for p in alone if p.network != summary.reference_of(p).network]
    most = max((point.ranks for point in ratios), default=0)
    return [point for point in ratios if point.ranks == most]


def _name(summary: SweepSummary, point: Point) -> str:
    return words.network(point.network) if NETWORK in point.values else summary.series_of(point, ())


def _part(summary: SweepSummary, point: Point, base: str) -> str:
    """Whether a network keeps pace, or how much longer a step takes and why; flagged if the machine drifted meanwhile."""
    flag = f" (flagged: the machine's rate drifted by {point.drift:+.0%})" if point.has_drifted else ""
    return _pace(summary, point, base) + flag


def _pace(summary: SweepSummary, point: Point, base: str) -> str:
    slow, name = point.slowdown, _name(summary, point)
    if not slow.has_interval:
        return f"a step on {name} takes {slow.value:.2f} times as long as on {base}, with too few runs for an interval"
    interval = f"95% interval {slow.low:.2f} to {slow.high:.2f}"
    if slow.low >= 1 / SAME and slow.high <= SAME:
        return f"{name} keeps pace with {base}, within 5% (a step takes {slow.value:.2f} times as long, {interval})"
    if slow.high < 1:
        return f"{name} is faster than {base} (a step takes {slow.value:.2f} times as long, {interval})"
    if slow.low > SAME:
        share = point.estimate("exposed").value / point.estimate("wall").value
        return f"{name} falls behind {base}: a step takes {slow.value:.2f} times as long ({interval}), {share:.0%} of it waiting for the network"
    return f"whether {name} is within 5% of {base} is not settled (a step takes {slow.value:.2f} times as long, {interval})"


def _limiter(summary: SweepSummary, reference: Point) -> list[str]:
    """What the limiter costs in time and saves in memory, where it was tried with and without."""
    pairs = [(w, f, r) for w, f, r in summary.limiter_pairs() if w.ranks == reference.ranks and r.has_interval]
    if not pairs:
        return []
    lows = [1 / r.high for _, _, r in pairs]
    highs = [1 / r.low for _, _, r in pairs]
    measured = list(dict.fromkeys(words.network(w.network) for w, _, _ in pairs))
    where = "on any of these networks" if len(measured) == len(summary.networks) else f"on {words.join(measured)}"
    if NETWORK not in summary.sweep.axes:
        where = "here"
    window = max(w.estimate("in_flight_bytes").value for w, _, _ in pairs)
    free = max(f.estimate("in_flight_bytes").value for _, f, _ in pairs)
    memory = f"holds the memory in flight at {words.bytes_(window)} instead of {words.bytes_(free)}"
    if max(highs) <= SAME and min(lows) >= 1 / SAME:
        return [f"the limiter costs no time {where} (within 5%) and {memory}"]
    if max(highs) <= SAME:
        return [f"the limiter costs no time {where}, saves up to {1 - min(lows):.0%}, and {memory}"]
    interval = f"with it a step takes {min(lows):.2f} to {max(highs):.2f} times as long as without"
    if max(lows) > 1:
        return [f"the limiter costs time ({interval} {where}) and {memory}"]
    return [f"whether the limiter costs time is not settled ({interval} {where}); it {memory}"]


def _scaling(summary: SweepSummary) -> list[str]:
    """How efficient the most ranks are."""
    known = [p for p in summary.points if p.efficiency.runs and p.values.get(LIMITER) == summary.sweep.baseline.get(LIMITER)]
    if not summary.is_scaling or not known:
        return []
    most = max(point.ranks for point in known)
    parts = [f"{p.efficiency.value:.0%} on {words.network(p.network)}" for p in known if p.ranks == most]
    return [f"efficiency on {most} ranks is {words.join(parts)}"]
