"""What fits: the largest value of a key with which each point of a sweep runs within its memory budget."""

from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import figures, words
from .summary import NETWORK, Point, SweepSummary

OUTCOMES = {"fits": (figures.BLUE, "o", "fits"), "retries": (figures.ORANGE, "D", "had to wait for memory"),
            "out of memory": (figures.VERMILION, "X", "out of memory")}  # fmt: skip


def _name(summary: SweepSummary, point: Point) -> str:
    network = words.network(point.network) if NETWORK in summary.sweep.axes else ""
    return ", ".join(part for part in (network, summary.series_of(point)) if part)


def fit(summary: SweepSummary, folder: Path, name: str) -> figures.Drawn | None:
    """A bar for what fits, a mark for each trial."""
    points = [point for point in summary.points if point.trials]
    if not summary.sweep.fit or not points:
        return None
    figure, (axis,) = figures.begin(f"What fits in memory: {summary.sweep.title}", 0.7 + 0.4 * len(points))
    for y, point in enumerate(points):
        axis.barh(y, point.fitted or 0, height=0.62, color="#D6E6F2")
        for trial in point.trials:
            colour, marker, _ = OUTCOMES[trial.outcome]
            axis.plot(trial.value, y, marker=marker, color=colour, markersize=6, linestyle="none", zorder=3)
        text = f"{point.fitted} fits" if point.fitted is not None else point.ran_out
        axis.annotate(text, (max(trial.value for trial in point.trials), y), xytext=(9, 0), textcoords="offset points", va="center", fontweight="bold")
    most = max(trial.value for point in points for trial in point.trials)
    axis.set_xlim(0, most * 1.2)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_xlabel(f"{summary.sweep.fit}")
    axis.set_yticks(range(len(points)), [_name(summary, point) for point in points])
    axis.set_ylim(len(points) - 0.45, -0.6)
    figures.horizontal(axis)
    handles = [Patch(color="#D6E6F2", label="the largest that fits")]
    seen = {trial.outcome for point in points for trial in point.trials}
    handles += [Line2D([], [], color=colour, marker=marker, linestyle="none", label=label) for outcome, (colour, marker, label) in OUTCOMES.items() if outcome in seen]
    note = "Marks: each trial, a short run with that value. It fits if no rank ran out of its memory budget or had to wait for memory."
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 4))
