"""The chain from memory to speed: what a limiter leaves room for, how efficiently it then scales, and where published figures fall."""

import math
from dataclasses import dataclass
from functools import cached_property

from . import words
from .published import Published, Region, meeting, regions_of, side_of
from .statistics import Estimate, median_interval
from .summary import LIMITER, RANKS, Point, SweepSummary, limiter_name, ratio_of


@dataclass(frozen=True)
class Line:
    """The efficiency of one limiter over the axis; `rest` are the values of the axes beside."""

    limiter: str
    rest: str
    points: list[tuple[float, Point, Estimate]]

    @property
    def curve(self) -> list[tuple[float, Estimate]]:
        return [(x, efficiency) for x, _, efficiency in self.points if efficiency.runs]

    @property
    def name(self) -> str:
        return limiter_name(self.limiter) + (f", {self.rest}" if self.rest else "")


@dataclass(frozen=True)
class Placement:
    """Where a published efficiency falls on the measured lines that it belongs to."""

    row: Published
    lines: list[Line]
    regions: list[Region]


@dataclass(frozen=True)
class Batches:
    """What fits for one limiter on a number of ranks, over the axes beside."""

    limiter: str
    ranks: int
    least: int
    usual: float
    most: int


class Chain:
    """A sweep over ranks and limiters, of which each point has the largest batch that fits."""

    def __init__(self, summary: SweepSummary, key: str, scale: list[float], unit: str):
        self.summary, self.key, self.unit = summary, key, unit
        self.is_log = min(scale) > 0
        self.xs = dict(zip(summary.sweep.axes[key], scale, strict=True))
        counts = sorted({int(point.values[RANKS]) for point in summary.points})
        self.fewest, self.most = counts[0], counts[-1]
        self.limiters = list(dict.fromkeys(str(point.values[LIMITER]) for point in summary.points))

    def x_of(self, point: Point) -> float:
        return self.xs[str(point.values[self.key])]

    def efficiency_of(self, point: Point) -> Estimate:
        """Tokens a second and rank against the same on the fewest ranks: (seconds a step / batch a rank) there / here."""
        rate, _ = ratio_of(point, self.summary.on_ranks(point, self.fewest), "tokens_per_second")
        return rate.scaled(self.fewest / self.most)

    @cached_property
    def lines(self) -> list[Line]:
        lines: dict[tuple[str, str], list[tuple[float, Point, Estimate]]] = {}
        for point in self.summary.points:
            if point.values[RANKS] == self.most and point.records:
                name = (str(point.values[LIMITER]), self.summary.series_of(point, (RANKS, LIMITER, self.key)))
                lines.setdefault(name, []).append((self.x_of(point), point, self.efficiency_of(point)))
        return [Line(*name, sorted(points, key=lambda one: one[0])) for name, points in lines.items()]

    @cached_property
    def batches(self) -> list[Batches]:
        found = []
        for limiter in self.limiters:
            for ranks in (self.most, self.fewest):
                fitted = [p.fitted for p in self.summary.points
                          if p.values[LIMITER] == limiter and p.values[RANKS] == ranks and p.fitted is not None]  # fmt: skip
                if fitted:
                    found.append(Batches(limiter, ranks, min(fitted), median_interval(fitted).value, max(fitted)))
        return found

    def batch_of(self, limiter: str, ranks: int | None = None) -> Batches | None:
        return next((b for b in self.batches if b.limiter == limiter and b.ranks == (ranks or self.most)), None)

    def published_batch(self, limiter: str) -> float:
        """NaN if none is given."""
        rows = [row for row in self.summary.sweep.published if str(row.where.get(LIMITER, "")) == limiter and not math.isnan(row.batch)]
        return rows[0].batch if rows else math.nan

    def points_of(self, limiter: str) -> list[Point]:
        """On the most ranks, with runs."""
        return [p for p in self.summary.points if p.values[LIMITER] == limiter and p.values[RANKS] == self.most and p.records]

    @cached_property
    def placements(self) -> list[Placement]:
        placed = []
        for row in self.summary.sweep.published:
            aside = (self.key, RANKS)
            lines = [line for line in self.lines if line.curve and row.is_of(line.points[0][1].values, aside)]
            if math.isnan(row.efficiency) or not lines:
                continue
            regions = sorted(region for line in lines for region in regions_of(line.curve, row.efficiency, self.is_log))
            placed.append(Placement(row, lines, regions))
        return placed

    def quantity(self, x: float) -> str:
        return f"{words.digits(x, 2) if x < 100 else words.digits(x)} {self.unit}".strip()

    def span(self, region: Region) -> str:
        low, high = self.quantity(region[0]), self.quantity(region[1])
        return low if low == high else f"{low.removesuffix(self.unit).strip()} to {high}"

    def place(self, placement: Placement) -> str:
        """ "falls at 22 to 31 Gbit/s", or on which side of all that was measured it lies."""
        if placement.regions:
            return f"falls at {words.join([self.span(region) for region in placement.regions])}"
        curve = [point for line in placement.lines for point in line.curve]
        values = [efficiency.value for _, efficiency in curve]
        side = side_of(curve, placement.row.efficiency)
        if side == "above":
            return f"lies above all measured ({max(values):.0%} at most)"
        if side == "below":
            return f"lies below all measured ({min(values):.0%} at least)"
        return "lies between measured lines"

    def conclusion(self) -> str:
        """Whether one value of the axis explains all rows; "" if there are none."""
        placed = self.placements
        if not placed:
            return ""
        names = [f"{p.row.label} ({p.row.efficiency:.0%}) {self.place(p)}" for p in placed]
        if len(placed) == 1:
            return f"the published {names[0]}"
        met, common = meeting([p.regions for p in placed])
        if len(met) == len(placed):
            return f"one {self.key} explains all {len(placed)} published rows, {self.span(common)}: {'; '.join(names)}"
        text = f"no one {self.key} explains all {len(placed)} published rows: {'; '.join(names)}"
        if len(met) > 1:
            others = [p.row.label for i, p in enumerate(placed) if i not in met]
            text += f"; {words.join([placed[i].row.label for i in met])} agree at {self.span(common)}, {words.join(others)} {'does' if len(others) == 1 else 'do'} not"
        return text

    @cached_property
    def retry_seconds(self) -> Estimate:
        """How long a rank stands still for a retry, by the wall clock: the median of the runs and trials that had one."""
        of_runs = [value for point in self.summary.points for value in point.by_repeat.get("retry_seconds", {}).values()]
        of_trials = [trial.stalled_seconds * point.ranks / trial.retries
                     for point in self.summary.points for trial in point.trials if trial.retries > 0]  # fmt: skip
        return median_interval(of_runs + of_trials)

    def shortfalls(self) -> list[tuple[Placement, float, float, float]]:
        """(placement of a row without limiter, x, wall seconds a step that would bring the line down to it there, the same emulated)."""
        found = []
        for placement in self.placements:
            for line in (line for line in placement.lines if line.limiter == "none"):
                for x, point, efficiency in line.points:
                    if efficiency.runs and (efficiency.low or efficiency.value) > placement.row.efficiency:
                        longer = point.estimate("wall").value * (efficiency.value / placement.row.efficiency - 1)
                        found.append((placement, x, longer, longer / point.wall_per_second))
        return found


def chain_of(summary: SweepSummary) -> Chain | None:
    """The chain, if the sweep has ranks, limiters, what fits, and an axis of quantities to draw it over."""
    axes = summary.sweep.axes
    if not summary.sweep.fit or not {RANKS, LIMITER} <= set(axes) or len({point.values[RANKS] for point in summary.points}) < 2:
        return None
    for key in (key for key in axes if key not in (RANKS, LIMITER)):
        scale = words.quantities(axes[key])
        if scale is not None and len(axes[key]) > 1:
            return Chain(summary, key, *scale)
    return None


def batch_sentence(chain: Chain) -> str:
    """What fits for each limiter, against none, beside what was published; "" if nothing fits."""
    free, free_published = chain.batch_of("none"), chain.published_batch("none")
    parts = []
    for limiter in chain.limiters:
        batch, published = chain.batch_of(limiter), chain.published_batch(limiter)
        if batch is None:
            continue
        size = f"{batch.usual:g}" if batch.least == batch.most else f"{batch.least} to {batch.most}"
        asides = []
        if free is not None and limiter != "none":
            asides.append(f"{batch.usual / free.usual:.2f} times")
        if not math.isnan(published):
            more = f", {published / free_published:.2f} times" if limiter != "none" and not math.isnan(free_published) else ""
            asides.append(f"published {published:g}{more}")
        parts.append(f"{limiter_name(limiter)} {size}" + (f" ({'; '.join(asides)})" if asides else ""))
    return f"the largest {chain.summary.sweep.fit} a rank without retries on {chain.most} ranks: {', '.join(parts)}" if parts else ""


def retry_sentences(chain: Chain) -> list[str]:
    """What a retry costs, and how many of them would bring the line without limiter down to its published row."""
    cost = chain.retry_seconds
    sentences = []
    pace = next((point.wall_per_second for point in chain.summary.points if point.records), 1.0)
    if cost.runs:
        sentences.append(f"A retry stops a rank for {words.seconds(cost.value)} by the wall clock here ({words.seconds(cost.value / pace)} emulated), "
                         f"the median over {cost.runs} runs and trials that had one.")  # fmt: skip
    short = chain.shortfalls()
    for placement in dict.fromkeys(id(p) for p, *_ in short):
        mine = [(p, x, wall, cluster) for p, x, wall, cluster in short if id(p) == placement]
        row, xs = mine[0][0].row, [chain.quantity(x) for _, x, _, _ in mine]
        if cost.runs and cost.value > 0:
            what = f"{_ends([wall / cost.value for _, _, wall, _ in mine])} retries a step and rank at that cost"
        else:
            what = f"{_ends([cluster for *_, cluster in mine])} s a step (emulated) of standing still; no run had a retry, so that its cost is not known,"
        sentences.append(f"The line without limiter lies above its published {row.efficiency:.0%} at {words.join(xs)}: {what} would bring it down to that.")
    return sentences


def _ends(values: list[float]) -> str:
    low, high = words.digits(min(values), 2), words.digits(max(values), 2)
    return low if low == high else f"{low} to {high}"


def notes_of(chain: Chain) -> list[str]:
    """The chain in sentences, for beside the table."""
    notes = []
    batches, conclusion = batch_sentence(chain), chain.conclusion()
    if batches:
        notes.append(f"{batches[0].upper()}{batches[1:]}.")
    if conclusion:
        notes.append(f"{conclusion[0].upper()}{conclusion[1:]}. A row falls where the line between measured points, with its 95% interval, passes its efficiency.")
    notes += retry_sentences(chain)
    sources = dict.fromkeys(row.source for row in chain.summary.sweep.published)
    return notes + ([f"Published: {'; '.join(sources)}."] if sources else [])
