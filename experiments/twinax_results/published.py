"""Figures that were published elsewhere: which points they belong to, and where a measured line passes through them."""

import math
from dataclasses import dataclass, field

from .statistics import Estimate

Region = tuple[float, float]  # from, to


@dataclass(frozen=True)
class Published:
    """A row of figures; NaN where none is given."""

    name: str
    label: str
    source: str
    where: dict = field(default_factory=dict)  # axis values that it belongs to; axes left out may have any
    efficiency: float = math.nan  # of scaling, a share
    speedup: float = math.nan  # step time without limiter / with the row's
    batch: float = math.nan  # of a rank

    def is_of(self, values: dict, without: tuple[str, ...] = ()) -> bool:
        """Whether the row belongs to a point with these values on its axes, those `without` left aside."""
        return all(values.get(key) == value for key, value in self.where.items() if key not in without)


def _ends(estimate: Estimate) -> Region:
    return (estimate.low, estimate.high) if estimate.has_interval else (estimate.value, estimate.value)


def _reached(left: Region, right: Region, level: float) -> Region | None:
    """The part of a segment, from 0 to 1, in which the level lies between the lower and the upper line; None if it nowhere does."""
    begin, end = 0.0, 1.0
    for at_left, at_right, sign in ((left[0], right[0], 1), (left[1], right[1], -1)):
        before, after = sign * (level - at_left), sign * (level - at_right)  # not below 0 where it holds
        if before < 0 and after < 0:
            return None
        if before < 0:
            begin = max(begin, before / (before - after))
        if after < 0:
            end = min(end, before / (before - after))
    return (begin, end) if begin <= end else None


def regions_of(curve: list[tuple[float, Estimate]], level: float, is_log: bool) -> list[Region]:
    """Where the level lies within the curve's intervals, by straight lines from point to point (of a logarithmic axis: in the logarithm).

    Empty if it does nowhere between the first and the last point. Regions that touch are one.
    """
    to, back = (math.log, math.exp) if is_log else (float, float)
    points = sorted((x, _ends(y)) for x, y in curve)
    segments = list(zip(points, points[1:], strict=False)) or [(point, point) for point in points]
    found: list[Region] = []
    for (x0, left), (x1, right) in segments:
        part = _reached(left, right, level)
        if part is None:
            continue
        begin, end = (x0 if share == 0 else x1 if share == 1 else back(to(x0) + share * (to(x1) - to(x0))) for share in part)
        if found and math.isclose(found[-1][1], begin):
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def side_of(curve: list[tuple[float, Estimate]], level: float) -> str:
    """Of a level that the curve passes nowhere: "above" or "below" all of it; "" if it is between, in a gap."""
    ends = [_ends(y) for _, y in curve]
    if level > max(high for _, high in ends):
        return "above"
    return "below" if level < min(low for low, _ in ends) else ""


def meeting(rows: list[list[Region]]) -> tuple[list[int], Region | None]:
    """The largest set of rows (by number) whose regions have a value in common, and the regions' common part."""
    best: tuple[list[int], Region | None] = ([], None)
    for at in sorted({end for regions in rows for region in regions for end in region}):
        there = [(i, region) for i, regions in enumerate(rows) for region in regions if region[0] <= at <= region[1]]
        if len({i for i, _ in there}) > len(best[0]):
            best = (list(dict.fromkeys(i for i, _ in there)), (max(r[0] for _, r in there), min(r[1] for _, r in there)))
    return best
