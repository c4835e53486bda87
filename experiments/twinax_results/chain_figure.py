"""The figure of the chain: what fits for each limiter, and how efficiently it scales over a rate, beside what was published."""

import math
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter, NullLocator

from . import figures, words
from .chain import Chain, chain_of
from .published import Published
from .statistics import median_interval
from .summary import LIMITER, SweepSummary, limiter_name

LINES = ("-", ":", "-.")


def _colour(chain: Chain, limiter: str) -> str:
    return figures.CYCLE[chain.limiters.index(limiter) % len(figures.CYCLE)] if limiter in chain.limiters else figures.GREY


def _facts(chain: Chain, limiter: str) -> str:
    """Retries and memory of the runs that were measured."""
    points = chain.points_of(limiter)
    retries = median_interval([value for point in points for value in point.by_repeat["retries"].values()]).value
    memory = max((point.estimate("memory_bytes").value for point in points), default=math.nan)
    parts = [] if math.isnan(retries) else [f"{words.digits(retries)} retries a step"]
    parts += [] if math.isnan(memory) else [f"{words.bytes_(memory)} at peak"]
    return ", ".join(parts)


def _batches(axis, chain: Chain) -> None:
    """A bar for what fits on the most ranks, with its spread; a ring for the fewest; a diamond for what was published."""
    most = 1.0
    for y, limiter in enumerate(chain.limiters):
        colour, batch, alone = _colour(chain, limiter), chain.batch_of(limiter), chain.batch_of(limiter, chain.fewest)
        published = chain.published_batch(limiter)
        most = max([most, *(value for value in (batch.most if batch else 0, alone.most if alone else 0, published) if not math.isnan(value))])
        text = "nothing fits"
        if batch is not None:
            axis.barh(y, batch.usual, height=0.5, color=colour, alpha=0.35, linewidth=0)
            text = f"{batch.usual:g}"
            if batch.least < batch.most:
                axis.plot([batch.least, batch.most], [y, y], color=colour, linewidth=2.4, solid_capstyle="butt")
                text = f"{batch.least} to {batch.most}"
        if alone is not None:
            axis.plot(alone.usual, y, marker="o", color=colour, markerfacecolor="white", markersize=7, linestyle="none", zorder=4)
        if not math.isnan(published):
            axis.plot(published, y, marker="D", color=figures.INK, markersize=7, linestyle="none", zorder=4)
        facts = _facts(chain, limiter)
        axis.annotate(text, (0, y), xytext=(5, 0), textcoords="offset points", va="center", fontweight="bold", fontsize=10)
        axis.annotate(facts, (0, y), xytext=(5, -19), textcoords="offset points", va="center", fontsize=9)
    axis.set_yticks(range(len(chain.limiters)), [limiter_name(limiter) for limiter in chain.limiters], fontweight="bold")
    axis.set_ylim(len(chain.limiters) - 0.3, -0.55)
    axis.set_xlim(0, most * 1.1)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel(f"{chain.summary.sweep.fit} a rank")
    axis.set_title("The largest that fits without retries")
    figures.horizontal(axis)


def _lines(axis, chain: Chain) -> None:
    """Efficiency with its intervals, a line each; where points have an interval, a band between them."""
    rests = list(dict.fromkeys(line.rest for line in chain.lines))
    for line in chain.lines:
        colour, style = _colour(chain, line.limiter), LINES[rests.index(line.rest) % len(LINES)]
        marker = figures.MARKERS[chain.limiters.index(line.limiter) % len(figures.MARKERS)]
        curve = line.curve
        axis.plot([x for x, _ in curve], [100 * y.value for _, y in curve], color=colour, linestyle=style, linewidth=1.6, zorder=3)
        known = [(x, y) for x, y in curve if y.has_interval]
        axis.fill_between([x for x, _ in known], [100 * y.low for _, y in known], [100 * y.high for _, y in known], color=colour, alpha=0.18, linewidth=0)
        for x, y in curve:
            if y.has_interval:
                axis.plot([x, x], [100 * y.low, 100 * y.high], color=colour, linewidth=2.4, solid_capstyle="butt", zorder=3)
            axis.plot(x, 100 * y.value, marker=marker, color=colour, markerfacecolor=colour if y.has_interval else "white", markersize=6, zorder=4, clip_on=False)


def _limiter_of(row: Published) -> str:
    return str(row.where.get(LIMITER, ""))


def _rows(axis, chain: Chain) -> None:
    """Published efficiencies as dashed lines; thick where a measured line passes through."""
    least = min(chain.xs.values())
    for placement in chain.placements:
        level, colour = 100 * placement.row.efficiency, _colour(chain, _limiter_of(placement.row))
        axis.axhline(level, color=colour, linestyle=(0, (5, 4)), linewidth=1.1, zorder=1)
        for low, high in placement.regions:
            axis.plot([low, high], [level, level], color=colour, linewidth=7, alpha=0.45, solid_capstyle="round", zorder=2)
        axis.annotate(f"{placement.row.efficiency:.0%} {placement.row.label}", (least, level), xytext=(2, 3), textcoords="offset points", fontsize=8.6,
                      color=colour, va="bottom", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}, zorder=5)  # fmt: skip


def _ticks(axis, chain: Chain) -> None:
    values = sorted(set(chain.xs.values()))
    if chain.is_log:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xticks(values, [words.digits(x, 2) if x < 100 else words.digits(x) for x in values])
    axis.set_xlabel(f"{chain.key}" + (f" [{chain.unit}]" if chain.unit else ""))


def _legend(chain: Chain) -> list:
    handles = [Line2D([], [], color=_colour(chain, limiter), marker=figures.MARKERS[i % len(figures.MARKERS)], label=limiter_name(limiter))
               for i, limiter in enumerate(chain.limiters)]  # fmt: skip
    rests = list(dict.fromkeys(line.rest for line in chain.lines))
    handles += [Line2D([], [], color=figures.INK, linestyle=LINES[i % len(LINES)], label=rest) for i, rest in enumerate(rests) if rest]
    ranks = "1 rank" if chain.fewest == 1 else f"{chain.fewest} ranks"
    handles.append(Patch(color=figures.GREY, alpha=0.5, label=f"fits on {chain.most} ranks"))
    handles.append(Line2D([], [], color=figures.GREY, marker="o", markerfacecolor="white", linestyle="none", label=f"fits on {ranks}"))
    if any(not math.isnan(chain.published_batch(limiter)) for limiter in chain.limiters):
        handles.append(Line2D([], [], color=figures.INK, marker="D", linestyle="none", label="published batch"))
    if chain.placements:
        handles.append(Line2D([], [], color=figures.GREY, linestyle="--", label="published efficiency (thick: where it falls)"))
    return handles


def chain(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn | None:
    """What fits, and the efficiency that comes of it."""
    made = chain_of(summary)
    if made is None or not any(line.curve for line in made.lines):
        return None
    figure, (left, right) = figures.begin(f"From memory to speed: {summary.sweep.title}", max(3.6, 1.0 + 0.9 * len(made.limiters)), 2, (0.8, 1.2))
    _batches(left, made)
    _lines(right, made)
    _ticks(right, made)
    _rows(right, made)
    top = max([1.0, *(y.high or y.value for line in made.lines for _, y in line.curve), *(p.row.efficiency for p in made.placements)])
    right.set_ylim(0, 100 * top * 1.06)
    right.axhline(100, color=figures.INK, linewidth=1, zorder=1)
    right.set_title(f"Scaling efficiency on {made.most} ranks")
    right.set_ylabel(f"tokens/s a rank / the same on {made.fewest} [%]")
    conclusion = made.conclusion()
    parts = [f"{conclusion[0].upper()}{conclusion[1:]}."] if conclusion else []
    parts.append("Efficiency is (seconds a step / batch a rank) on the fewest ranks over the same on the most, each with what fits there: medians over runs "
                 "with 95% intervals (paired bootstrap), straight lines between; bars: medians over the axes beside, lines on them: the spread.")  # fmt: skip
    if summary.is_emulated and summary.stands_for:
        parts.append(f"Emulated: {summary.stands_for}.")
    return figures.finish(figure, folder, name, " ".join(parts), figures.legend_above(figure, _legend(made), 4))
