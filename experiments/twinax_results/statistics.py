"""Medians over runs with intervals that assume no distribution, and ratios of medians of runs that were made side by side.

The unit is the run: steps of one run are no independent measurements. Intervals are of 95%.
"""

import math
from dataclasses import dataclass

import numpy

FEWEST_RUNS = 6  # below, not even the smallest and the largest of the runs enclose the median in 95% of cases
ONE_SIDE = 0.025
DRAWS = 10_000
SEED = 20


@dataclass(frozen=True)
class Estimate:
    """A median or a ratio of medians over `runs` runs; without an interval if they are too few."""

    value: float
    low: float | None
    high: float | None
    runs: int

    @property
    def has_interval(self) -> bool:
        return self.low is not None

    def scaled(self, factor: float) -> "Estimate":
        """The same in another unit."""
        if not self.has_interval:
            return Estimate(self.value * factor, None, None, self.runs)
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.runs)


NOTHING = Estimate(math.nan, None, None, 0)


def order_statistics(runs: int) -> tuple[int, int] | None:
    """Which of the sorted values (from 1) enclose the median in at least 95% of cases, as narrowly as possible; None if none do.

    At least k values lie below the median unless a fair coin shows fewer than k heads in `runs` throws.
    """
    k, below = 0, 0.0
    while below + math.comb(runs, k) / 2**runs <= ONE_SIDE:
        below += math.comb(runs, k) / 2**runs
        k += 1
    return (k, runs + 1 - k) if k > 0 else None


def median_interval(values) -> Estimate:
    """The median with its interval between two order statistics. NaN is unknown, and does not count."""
    known = numpy.sort([value for value in values if not math.isnan(value)])
    if len(known) == 0:
        return NOTHING
    ranks = order_statistics(len(known))
    low, high = (float(known[ranks[0] - 1]), float(known[ranks[1] - 1])) if ranks else (None, None)
    return Estimate(float(numpy.median(known)), low, high, len(known))


def ratio_of_medians(above: dict[int, float], below: dict[int, float]) -> Estimate:
    """median(above) / median(below) over the repeats that both have, with its paired bootstrap interval (the same draws each time).

    Runs of one repeat were made one after the other, so that what slows the machine slows both: repeats are drawn as pairs.
    """
    repeats = [r for r in sorted(above.keys() & below.keys()) if not math.isnan(above[r]) and not math.isnan(below[r])]
    if not repeats:
        return NOTHING
    over = numpy.array([above[r] for r in repeats])
    under = numpy.array([below[r] for r in repeats])
    value = float(numpy.median(over) / numpy.median(under))
    if len(repeats) < FEWEST_RUNS:
        return Estimate(value, None, None, len(repeats))
    drawn = numpy.random.default_rng(SEED).integers(len(repeats), size=(DRAWS, len(repeats)))
    ratios = numpy.median(over[drawn], axis=1) / numpy.median(under[drawn], axis=1)
    low, high = numpy.quantile(ratios, [ONE_SIDE, 1 - ONE_SIDE])
    return Estimate(value, float(low), float(high), len(repeats))
