"""The figures of a sweep."""

import math
from dataclasses import dataclass
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import figures, words
from .chain_figure import chain
from .fit_figure import fit
from .speedup_figure import limiter_speedup
from .statistics import Estimate
from .summary import LIMITER, NETWORK, RANKS, SPLIT, Point, SweepSummary


@dataclass(frozen=True)
class Row:
    """Where a point stands in a figure of rows."""

    y: float
    point: Point
    series: int  # index of its other axes' values
    label: str


def rows_of(summary: SweepSummary) -> tuple[list[Row], list[str], dict[float, str]]:
    """The measured points from top to bottom, grouped by network; the series' names; and each group's name at its middle."""
    points = [point for point in summary.points if point.records]
    series = list(dict.fromkeys(summary.series_of(point) for point in points))
    rows: list[Row] = []
    groups: dict[float, str] = {}
    y = 0.0
    for network in dict.fromkeys(point.network for point in points):
        first = y
        for point in (point for point in points if point.network == network):
            label = summary.series_of(point)
            rows.append(Row(y, point, series.index(label), label))
            y += 1
        groups[(first + y - 1) / 2] = words.network(network) if NETWORK in summary.sweep.axes else ""
        y += 0.55
    return rows, series, groups


def _name_rows(axis, rows: list[Row], groups: dict[float, str], has_series: bool) -> None:
    """Networks in bold, their series beside."""
    axis.set_ylim(max(row.y for row in rows) + 0.75, -0.75)
    if not has_series:
        axis.set_yticks(list(groups), list(groups.values()), fontweight="bold")
        return
    axis.set_yticks([row.y for row in rows], [row.label for row in rows], fontsize=9.5)
    for y, name in groups.items():
        axis.annotate(name.replace(" ", "\n", 1), (0, y), xycoords=("axes fraction", "data"), xytext=(-172, 0), textcoords="offset points",
                      ha="left", va="center", fontweight="bold", annotation_clip=False)  # fmt: skip


def _bars(axis, rows: list[Row], scale: float, clock: str) -> None:
    """Each point's step, its parts one after another."""
    for row in rows:
        left = 0.0
        factor = 1 / row.point.wall_per_second if clock == "cluster" else 1.0
        for part in SPLIT:
            width = row.point.estimate(part).value * factor / scale
            axis.barh(row.y, width, left=left, height=0.72, color=figures.PART_COLOURS[part], linewidth=0)
            left += width


def _interval(axis, x: Estimate, y: float, colour: str, marker: str, vertical: bool = False) -> None:
    """A median, filled, with its interval; hollow if it has none."""
    if x.has_interval:
        ends = ([x.low, x.high], [y, y])
        axis.plot(*(reversed(ends) if vertical else ends), color=colour, linewidth=2.4, solid_capstyle="butt", zorder=3)
    place = (y, x.value) if vertical else (x.value, y)
    axis.plot(*place, marker=marker, color=colour, markerfacecolor=colour if x.has_interval else "white", markersize=7, zorder=4, clip_on=False)


def _part_handles() -> list[Patch]:
    return [Patch(color=figures.PART_COLOURS[part], label=figures.PART_NAMES[part]) for part in SPLIT]


def _clock(summary: SweepSummary) -> str:
    return "emulated" if summary.is_emulated else "measured"


def slowdown(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn:
    """The main figure: what a step is made of on each network, and how much longer it takes than the baseline's."""
    rows, series, groups = rows_of(summary)
    figure, (parts, ratios) = figures.begin(summary.sweep.title, 0.62 + 0.36 * max(row.y for row in rows) + 0.6, 2, (1.15, 1), share_y=True)
    scale, unit = words.unit_of(max(row.point.estimate("cluster").value for row in rows), words.TIME_UNITS)
    _bars(parts, rows, scale, "cluster")
    parts.set_title("Where the time of a step goes")
    parts.set_xlabel(f"step time, {_clock(summary)} [{unit}]")
    _name_rows(parts, rows, groups, len(series) > 1)
    reference = next((row.point for row in rows if row.point.is_reference), None)
    ratios.set_title(f"Slowdown against {_baseline_name(summary, reference)}")
    ratios.set_xlabel("step time / baseline's step time")
    ratios.axvline(1, color=figures.INK, linewidth=1, zorder=1)
    ratios.axvspan(1 / 1.05, 1.05, color="#EFEFEF", zorder=0)
    least = most = 1.0
    for row in rows:
        slow = row.point.slowdown
        if not slow.runs:
            ratios.annotate(row.point.no_ratio, (1, row.y), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, style="italic")
            continue
        colour = figures.CYCLE[row.series % len(figures.CYCLE)]
        _interval(ratios, slow, row.y, colour, figures.MARKERS[row.series % len(figures.MARKERS)])
        text = "baseline" if row.point.is_reference else f"{slow.value:.2f}×"
        ratios.annotate(text, (slow.high or slow.value, row.y), xytext=(9, 0), textcoords="offset points", va="center", fontweight="bold", fontsize=10)
        least, most = min(least, slow.low or slow.value), max(most, slow.high or slow.value)
    span = max(most - least, 0.1)
    ratios.set_xlim(min(least - 0.05 * span, 0.93), most + max(span * 0.28, 0.08))
    for axis in (parts, ratios):
        figures.horizontal(axis)
    legend_rows = figures.legend_above(figure, _part_handles(), 4)
    return figures.finish(figure, folder, name, _slowdown_note(summary), legend_rows)


def _baseline_name(summary: SweepSummary, reference: Point | None) -> str:
    if reference is None:
        return "the baseline"
    return words.network(reference.network) if NETWORK in summary.sweep.axes else summary.series_of(reference, (RANKS,)) or "the baseline"


def _slowdown_note(summary: SweepSummary) -> str:
    sentences = []
    if summary.is_emulated:
        sentences.append(f"Emulated: {summary.stands_for}." if summary.stands_for else "Emulated.")
        record = summary.sweep.records[0]
        sentences.append(f"1 s of that training took {words.digits(record.wall_per_second)} s here.")
    repeats = sorted({point.runs for point in summary.points if point.runs})
    sentences.append(f"Points: medians of {' to '.join(map(str, dict.fromkeys((repeats[0], repeats[-1]))))} runs; lines: 95% intervals, "
                     "paired bootstrap of runs made in rotation; band: within 5%; hollow: too few runs for an interval.")  # fmt: skip
    return " ".join([*sentences, " ".join(summary.flags())]).strip()


def step_time(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn:
    """Step times in both clocks, with intervals and the bound that each can't fall below."""
    rows, series, groups = rows_of(summary)
    figure, (axis,) = figures.begin(f"Step time: {summary.sweep.title}", 1.0 + 0.36 * max(row.y for row in rows) + 0.6)
    scale, unit = words.unit_of(max(row.point.estimate("wall").value for row in rows), words.TIME_UNITS)
    _bars(axis, rows, scale, "wall")
    for row in rows:
        total, bound = row.point.estimate("wall").scaled(1 / scale), row.point.estimate("bound").value / scale
        axis.plot([bound, bound], [row.y - 0.41, row.y + 0.41], color=figures.INK, linewidth=2)
        if total.has_interval:
            axis.errorbar(total.value, row.y, xerr=[[total.value - total.low], [total.high - total.value]], color=figures.INK, capsize=3, linewidth=1.4)
        text = f"{words.ratio(row.point.estimate('bound_ratio'), with_interval=False)}× its bound"
        axis.annotate(text, (max(total.high or total.value, bound), row.y), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9.5)
    _name_rows(axis, rows, groups, len(series) > 1)
    figures.horizontal(axis)
    axis.set_xlim(0, axis.get_xlim()[1] * 1.18)
    axis.set_xlabel(f"step time, wall clock [{unit}]")
    paces = {record.wall_per_second for record in summary.sweep.records}
    if summary.is_emulated and len(paces) == 1:
        _second_clock(axis, scale, paces.pop())
    handles = [*_part_handles(), Line2D([], [], color=figures.INK, linewidth=2, label="lower bound")]
    note = ("Bars: medians over runs of the runs' median step; whiskers: 95% intervals of the step's time. The lower bound is the same step on an "
            "ideal network of the same rate: every operation at its bound, nothing waited for but what it needs. " + " ".join(summary.flags()))  # fmt: skip
    return figures.finish(figure, folder, name, note.strip(), figures.legend_above(figure, handles, 3))


def _second_clock(axis, scale: float, wall_per_second: float) -> None:
    """The emulated training's clock along the top."""
    longest = axis.get_xlim()[1] * scale / wall_per_second
    other, unit = words.unit_of(longest, words.TIME_UNITS)
    factor = scale / wall_per_second / other
    top = axis.secondary_xaxis("top", functions=(lambda x: x * factor, lambda x: x / factor))
    top.set_xlabel(f"step time, emulated [{unit}]")
    top.spines["top"].set_visible(True)


def limiter(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn | None:
    """What the limiter costs in time, and what it saves in memory."""
    pairs = summary.limiter_pairs()
    if not pairs:
        return None
    figure, (time, memory) = figures.begin("The limiter: what it costs in time, what it saves in memory", 0.95 + 0.52 * len(pairs), 2, share_y=True)
    most = max(point.estimate("in_flight_bytes").value for window, free, _ in pairs for point in (window, free))
    scale, unit = words.unit_of(most, words.BYTE_UNITS)
    names = []
    for y, (window, free, ratio) in enumerate(pairs):
        rest = summary.series_of(window, (NETWORK, LIMITER))
        names.append(words.network(window.network) + (f", {rest}" if rest else ""))
        if ratio.runs:
            _interval(time, ratio, y, figures.BLUE, "o")
            time.annotate(words.ratio(ratio), (ratio.value, y), xytext=(0, 10), textcoords="offset points", ha="center",
                          fontsize=9.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8})  # fmt: skip
        else:
            time.annotate("no ratio: oversubscribed", (1, y), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, style="italic")
        for point, offset, colour, marker in ((window, -0.11, figures.BLUE, "o"), (free, 0.11, figures.VERMILION, "s")):
            held = point.estimate("in_flight_bytes").scaled(1 / scale)
            memory.plot([0, held.value], [y + offset] * 2, color=colour, linewidth=2.4)
            _interval(memory, held, y + offset, colour, marker)
            units = point.estimate("in_flight_units").value
            memory.annotate(f"{units:.0f} units", (held.value, y + offset), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9.5)
    time.set_yticks(range(len(names)), names, fontweight="bold")
    time.set_ylim(len(pairs) - 0.45, -0.6)
    time.axvline(1, color=figures.INK, linewidth=1, zorder=1)
    time.axvspan(1 / 1.05, 1.05, color="#EFEFEF", zorder=0)
    low, high = time.get_xlim()
    reach = max(1 - low, high - 1, 0.08) * 1.3
    time.set_xlim(1 - reach, 1 + reach)
    time.set_title("Step time without limiter / with it")
    time.set_xlabel("below 1: the limiter costs time; above: it saves")
    memory.set_title("Memory in flight at the worst moment")
    memory.set_xlabel(f"buffers alive at once [{unit}]")
    memory.set_xlim(0, most / scale * 1.2)
    for axis in (time, memory):
        figures.horizontal(axis)
    handles = [Line2D([], [], color=figures.BLUE, marker="o", label="window limiter"), Line2D([], [], color=figures.VERMILION, marker="s", label="no limiter")]
    note = ("Points: medians over runs; lines: 95% intervals (ratios by paired bootstrap of runs made in rotation); band: within 5%. "
            "Units are gathered parts of the model.")  # fmt: skip
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 2))


def efficiency(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn | None:
    """Tokens a second and rank, against the baseline, over the number of ranks."""
    points = [point for point in summary.points if point.records]
    if not summary.is_scaling or not any(point.efficiency.runs for point in points):
        return None
    figure, (rate, share) = figures.begin(f"Scaling: {summary.sweep.title}", 3.3, 2)
    lines = list(dict.fromkeys((point.network, summary.series_of(point, (NETWORK, RANKS))) for point in points))
    counts = sorted({point.ranks for point in points})
    scale, unit = words.unit_of(max(point.estimate("tokens_per_second").value for point in points), words.COUNT_UNITS)
    handles = []
    for i, (network, rest) in enumerate(lines):
        colour, marker = figures.CYCLE[i % len(figures.CYCLE)], figures.MARKERS[i % len(figures.MARKERS)]
        mine = sorted((p for p in points if (p.network, summary.series_of(p, (NETWORK, RANKS))) == (network, rest)), key=lambda p: p.ranks)
        shift = 1 + 0.012 * (i - (len(lines) - 1) / 2)  # so that equal points stay visible
        for axis, figure_of, factor in ((rate, lambda p: p.estimate("tokens_per_second"), 1 / scale), (share, lambda p: p.efficiency, 100)):
            known = [point for point in mine if not math.isnan(figure_of(point).value) and not (axis is share and point.is_oversubscribed)]
            axis.plot([p.ranks * shift for p in known], [figure_of(p).value * factor for p in known], color=colour, linewidth=1.2)
            for point in known:
                _interval(axis, figure_of(point).scaled(factor), point.ranks * shift, colour, marker, vertical=True)
        label = words.network(network) + (f", {rest}" if rest else "")
        handles.append(Line2D([], [], color=colour, marker=marker, label=label))
    for axis in (rate, share):
        axis.set_xscale("log", base=2)
        axis.set_xticks(counts, [str(n) for n in counts])
        axis.minorticks_off()
        axis.set_xlabel("ranks")
        axis.set_ylim(0, axis.get_ylim()[1] * 1.06)
    rate.set_title("Rate of training")
    rate.set_ylabel(f"tokens/s, {_clock(summary)}" + (f" [{unit.strip()}]" if unit else ""))
    share.set_title("Efficiency")
    share.set_ylabel("tokens/s a rank / baseline's [%]")
    share.axhline(100, color=figures.INK, linewidth=1, zorder=1)
    note = ("Points: medians over runs; vertical lines: 95% intervals (efficiency by paired bootstrap of runs made in rotation); hollow: too few "
            f"runs for an interval. Ideal scaling is 100%. {_emulation(summary)} {' '.join(summary.flags())}")  # fmt: skip
    return figures.finish(figure, folder, name, note.strip(), figures.legend_above(figure, handles, 4))


def _emulation(summary: SweepSummary) -> str:
    if not summary.is_emulated:
        return ""
    return f"Emulated: {summary.stands_for}." if summary.stands_for else "Emulated."


def loss(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn:
    """The loss over steps and over time: the network changes the second alone."""
    points = [point for point in summary.points if point.records]
    figure, (by_step, by_time) = figures.begin(f"Training loss: {summary.sweep.title}", 3.3, 2, share_y=True)
    longest = max(float(p.records[0].steps["seconds"].sum()) / p.wall_per_second for p in points)
    scale, unit = words.unit_of(longest, words.TIME_UNITS)
    styles = ("-", "--", ":", "-.")
    series = list(dict.fromkeys(summary.series_of(point) for point in points))
    handles = []
    for point in points:
        record = min(point.records, key=lambda r: r.repeat)
        colour = figures.CYCLE[summary.networks.index(point.network) % len(figures.CYCLE)]
        line = styles[series.index(summary.series_of(point)) % len(styles)]
        by_step.plot(record.steps["step"] + 1, record.steps["loss"], color=colour, linestyle=line)
        by_time.plot(record.steps["seconds"].cumsum() / record.wall_per_second / scale, record.steps["loss"], color=colour, linestyle=line)
        label = ", ".join(part for part in (words.network(point.network), summary.series_of(point)) if part)
        handles.append(Line2D([], [], color=colour, linestyle=line, label=label))
    by_step.set_title("By step")
    by_step.set_xlabel("training step")
    by_step.xaxis.get_major_locator().set_params(integer=True)
    by_step.set_ylabel("loss [nat a token]")
    by_time.set_title("By time")
    by_time.set_xlabel(f"time in steps, {_clock(summary)} [{unit}]")
    note = ("Lines: the first run of each point, warm-up steps included. Points that train alike lie on each other on the left: a network "
            "changes when a loss is reached, not which.")  # fmt: skip
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 3))


def draw(summary: SweepSummary, folder: Path, prefix: str = "") -> list[figures.Drawn]:
    """All figures that the sweep has the data for, the main one first."""
    first = chain(summary, folder, prefix + chain.__name__)
    fits = [fit(summary, folder, prefix + fit.__name__)]
    has_runs = any(point.records for point in summary.points)
    measured = (limiter_speedup, slowdown, step_time, limiter, efficiency, loss) if has_runs else ()
    if first is not None:
        measured = (step_time,)  # the batches differ, so that times, losses and memory of two points don't compare
    drawn = [first, *(figure(summary, folder, prefix + figure.__name__) for figure in measured), *fits]
    return [figure for figure in drawn if figure is not None]
