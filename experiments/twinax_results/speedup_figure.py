"""The figure of one workload with limiters and without."""

import math
import textwrap
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import figures, words
from .speedup import Speedup, retries_of, retry_text, speedups_of
from .summary import Point, SweepSummary, limiter_name


def _name(one: Speedup, has_several: bool) -> str:
    parts = one.where.split(", ") if one.where else []
    return "\n".join([*parts, limiter_name(one.limiter)] if has_several or not parts else parts)


def _retry(point: Point) -> str:
    """ "12 × 75.0 ms (15.0 ms emulated)"; shorter than in a sentence."""
    return retry_text(point).replace(" retries a step, ", " × ").replace(" each", "") or "not recorded"


def _ratios(axis, speedups: list[Speedup], limiters: list[str]) -> None:
    """A point with its interval for each, diamonds for what was published."""
    least = most = 1.0
    for y, one in enumerate(speedups):
        colour = figures.CYCLE[limiters.index(one.limiter) % len(figures.CYCLE)]
        marker = figures.MARKERS[limiters.index(one.limiter) % len(figures.MARKERS)]
        for row in one.published:
            axis.plot(row.speedup, y, marker="D", color=figures.INK, markerfacecolor="white", markersize=7, linestyle="none", zorder=4)
            label = textwrap.fill(row.label, 16 if len(one.published) > 1 else 34)
            near_edge = row.speedup < 1.2
            axis.annotate(label, (row.speedup, y), xytext=(-5 if near_edge else 0, -8), textcoords="offset points",
                          ha="left" if near_edge else "center", va="top", fontsize=8.4, linespacing=1)  # fmt: skip
            least, most = min(least, row.speedup), max(most, row.speedup)
        if not one.ratio.runs:
            axis.annotate(f"no ratio: {one.why_not}", (1, y), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, style="italic")
            continue
        low, high = (one.ratio.low, one.ratio.high) if one.ratio.has_interval else (one.ratio.value, one.ratio.value)
        axis.plot([low, high], [y, y], color=colour, linewidth=2.4, solid_capstyle="butt", zorder=3)
        face = colour if one.ratio.has_interval else "white"
        axis.plot(one.ratio.value, y, marker=marker, color=colour, markerfacecolor=face, markersize=7, zorder=5)
        axis.annotate(f"{one.ratio.value:.2f}×", (one.ratio.value, y), xytext=(0, 13), textcoords="offset points", ha="center", va="center",
                      fontweight="bold", fontsize=10)  # fmt: skip
        least, most = min(least, low), max(most, high)
    span = max(most - least, 0.2)
    axis.set_xlim(least - 0.15 * span, most + 0.15 * span)
    axis.axvline(1, color=figures.INK, linewidth=1, zorder=1)
    axis.axvspan(1 / 1.05, 1.05, color="#EFEFEF", zorder=0)
    axis.set_title("Speed-up over no limiter")
    axis.set_xlabel("step time without / with the limiter")


def _retries(axis, speedups: list[Speedup], limiters: list[str]) -> None:
    """Retries a step without and with, and what each of them costs."""
    most = max([1.0, *(value for one in speedups for value in (retries_of(one.free), retries_of(one.limited)) if not math.isnan(value))])
    for y, one in enumerate(speedups):
        colour = figures.CYCLE[limiters.index(one.limiter) % len(figures.CYCLE)]
        for point, offset, fill in ((one.free, -0.2, figures.GREY), (one.limited, 0.2, colour)):
            retries = retries_of(point)
            axis.barh(y + offset, 0 if math.isnan(retries) else retries, height=0.34, color=fill, linewidth=0)
            axis.annotate(_retry(point), (0, y + offset), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.6,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.75})  # fmt: skip
    axis.set_xlim(0, most * 1.1)
    axis.set_title("Waits for memory, and what each takes")
    axis.set_xlabel("retries a step and rank")


def limiter_speedup(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn | None:
    """The same batch with each limiter and without, at every combination of the other axes."""
    speedups = speedups_of(summary)
    if not speedups:
        return None
    limiters = list(dict.fromkeys(one.limiter for one in speedups))
    figure, (ratios, retries) = figures.begin(f"One workload, with a limiter and without: {summary.sweep.title}", 0.9 + 0.72 * len(speedups), 2, (1.1, 1), share_y=True)
    _ratios(ratios, speedups, limiters)
    _retries(retries, speedups, limiters)
    ratios.set_yticks(range(len(speedups)), [_name(one, len(limiters) > 1) for one in speedups], fontsize=9.5)
    ratios.set_ylim(len(speedups) - 0.4, -0.6)
    for axis in (ratios, retries):
        figures.horizontal(axis)
    handles = [Line2D([], [], color=figures.CYCLE[i % len(figures.CYCLE)], marker=figures.MARKERS[i % len(figures.MARKERS)], label=limiter_name(limiter))
               for i, limiter in enumerate(limiters)]  # fmt: skip
    handles.append(Patch(color=figures.GREY, label="no limiter"))
    if any(one.published for one in speedups):
        handles.append(Line2D([], [], color=figures.INK, marker="D", markerfacecolor="white", linestyle="none", label="published"))
    sources = list(dict.fromkeys(row.source for one in speedups for row in one.published))
    parts = ["Points: ratios of medians over runs; lines: 95% intervals, paired bootstrap of runs made in rotation; band: within 5%; hollow: too few "
             "runs for an interval. A retry: the allocator waits until memory is free, and gives back what it had cached."]  # fmt: skip
    if summary.is_emulated and summary.stands_for:
        parts.append(f"Emulated: {summary.stands_for}; 1 s of it took {words.digits(summary.sweep.records[0].wall_per_second)} s here.")
    if sources:
        parts.append(f"Published: {'; '.join(sources)}.")
    return figures.finish(figure, folder, name, " ".join(parts), figures.legend_above(figure, handles, 4))
