"""The figures of a single run."""

from pathlib import Path

import numpy
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import figures, words
from .load import Record
from .summary import SPLIT

FEWEST_SAMPLES = 40  # below, each step is drawn; above, medians of neighbours as well

STRAGGLER = 1.05  # times the median rank's computing


def _steps(record: Record) -> numpy.ndarray:
    return record.steps["step"] + 1


def _smooth(values: numpy.ndarray, width: int) -> numpy.ndarray:
    """Running medians over `width` neighbours; towards the ends over as many as there are on either side."""
    smooth = []
    for i in range(len(values)):
        half = min(width // 2, i, len(values) - 1 - i)
        smooth.append(numpy.median(values[i - half : i + half + 1]))
    return numpy.array(smooth)


def _whole_numbers(axis) -> None:
    axis.xaxis.get_major_locator().set_params(integer=True)


def _clock_note(record: Record) -> str:
    if not record.is_emulated:
        return "Measured on the machine's own network."
    note = f"Emulated: {record.stands_for}. " if record.stands_for else "Emulated. "
    return note + f"Times are of the wall clock; {words.digits(record.wall_per_second)} s of it stand for 1 s of the emulated training."


def loss(record: Record, folder: Path, name: str) -> figures.Drawn:
    """Training loss and held-out loss."""
    figure, (axis,) = figures.begin(f"Loss: {record.name}", 3.4)
    values = record.steps["loss"]
    handles = [Line2D([], [], color=figures.BLUE, label="training")]
    if len(values) >= FEWEST_SAMPLES:
        axis.plot(_steps(record), values, color=figures.SKY, alpha=0.6, linewidth=0.9)
        axis.plot(_steps(record), _smooth(values, max(5, len(values) // 40)), color=figures.BLUE)
    else:
        axis.plot(_steps(record), values, color=figures.BLUE)
    held_out = record.evaluation
    if len(held_out["loss"]):
        axis.plot(held_out["step"], held_out["loss"], color=figures.VERMILION, marker="o", linestyle="--", linewidth=1.2)
        last = held_out["bits_per_byte"][-1]
        axis.annotate(f"{last:.3f} bits a byte", (held_out["step"][-1], held_out["loss"][-1]), xytext=(-4, 12), textcoords="offset points",
                      ha="right", color=figures.VERMILION, fontweight="bold")  # fmt: skip
        handles.append(Line2D([], [], color=figures.VERMILION, marker="o", linestyle="--", label="held-out text"))
    axis.set_xlabel("training steps")
    axis.set_ylabel("loss [nat a token]")
    _whole_numbers(axis)
    note = "Thin: each step; thick: running median." if len(values) >= FEWEST_SAMPLES else "Each step."
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 2))


def step_time(record: Record, folder: Path, name: str) -> figures.Drawn:
    """What each step's time is made of, and its lower bound."""
    figure, (axis,) = figures.begin(f"Where the time of a step goes: {record.name}", 3.4)
    steps = record.steps
    scale, unit = words.unit_of(float(numpy.nanmedian(steps["seconds"])), words.TIME_UNITS)
    compute, hidden, exposed = (steps[f"{part}_seconds"] for part in ("compute", "hidden_communication", "exposed_communication"))
    parts = {"computing": compute - hidden, "hidden": hidden, "exposed": exposed}
    parts["waiting"] = numpy.maximum(steps["seconds"] - compute - exposed, 0)
    heights = [numpy.nan_to_num(parts[part]) / scale for part in SPLIT]
    # A step is as wide as the distance to its neighbours: the first and last are drawn twice.
    edges = numpy.concatenate([[_steps(record)[0] - 0.5], _steps(record), [_steps(record)[-1] + 0.5]])
    padded = [numpy.pad(values, 1, mode="edge") for values in heights]
    axis.stackplot(edges, padded, step="mid", colors=[figures.PART_COLOURS[part] for part in SPLIT], linewidth=0)
    axis.step(edges, numpy.pad(steps["lower_bound_seconds"] / scale, 1, mode="edge"), where="mid", color=figures.INK, linewidth=1.6)
    total = numpy.sum(heights, axis=0)
    if len(total) > FEWEST_SAMPLES:
        axis.set_ylim(0, float(numpy.quantile(total, 0.99)) * 1.25)
    axis.set_xlabel("training step")
    axis.set_ylabel(f"time [{unit}]")
    axis.set_xlim(_steps(record)[0] - 0.6, _steps(record)[-1] + 0.6)
    _whole_numbers(axis)
    handles = [Patch(color=figures.PART_COLOURS[part], label=figures.PART_NAMES[part]) for part in SPLIT]
    handles.append(Line2D([], [], color=figures.INK, label="lower bound"))
    note = f"Parts: medians over ranks; their sum: the slowest rank's step. {_clock_note(record)}"
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 3))


def memory(record: Record, folder: Path, name: str) -> figures.Drawn:
    """Memory at its peak: all of it, and what is in flight."""
    figure, (whole, flight) = figures.begin(f"Memory: {record.name}", 3.0, 2)
    for axis, column, title in ((whole, "memory_peak_bytes", "Buffers and state, peak of each step"),
                                (flight, "in_flight_bytes_peak", "In flight, peak of each step")):  # fmt: skip
        values = record.steps[column].astype(float)
        scale, unit = words.unit_of(float(values.max()), words.BYTE_UNITS)
        axis.plot(_steps(record), values / scale, color=figures.BLUE)
        axis.set_ylim(0, float(values.max()) / scale * 1.2 or 1)
        axis.set_title(title)
        axis.set_ylabel(f"memory [{unit}]")
        axis.set_xlabel("training step")
        _whole_numbers(axis)
    units, reductions = (int(record.steps[column].max()) for column in ("in_flight_peak", "reductions_peak"))
    flight.annotate(f"gathered units at once: {units}; reductions: {reductions}", (0.97, 0.08), xycoords="axes fraction", ha="right", fontsize=9.5)
    return figures.finish(figure, folder, name, "The largest of the ranks'.")


def ranks(record: Record, folder: Path, name: str) -> figures.Drawn | None:
    """Which ranks the others wait for: how long each computes, and how long it doesn't."""
    compute = record.ranks["compute_seconds"][max(record.warmup_steps, 0) :]
    rest = numpy.maximum(record.ranks["seconds"][max(record.warmup_steps, 0) :] - compute, 0)
    count = compute.shape[1]
    if count < 2 or len(compute) == 0:
        return None
    figure, (axis,) = figures.begin(f"Ranks: {record.name}", 0.9 + min(0.3 * count, 6.0))
    medians = numpy.median(compute, axis=0)
    scale, unit = words.unit_of(float(medians.max()) or 1.0, words.TIME_UNITS)
    slowest, usual = int(medians.argmax()), float(numpy.median(medians)) or 1.0
    waits = numpy.median(rest, axis=0)
    axis.barh(range(count), medians / scale, color=figures.BLUE, height=0.72)
    axis.barh(range(count), waits / scale, left=medians / scale, color=figures.PALE, height=0.72)
    low, high = numpy.quantile(compute, [0.05, 0.95], axis=0)
    axis.errorbar(medians / scale, range(count), xerr=[(medians - low) / scale, (high - medians) / scale], fmt="none", ecolor=figures.INK, capsize=3)
    if medians[slowest] > STRAGGLER * usual:
        axis.annotate("straggler", ((medians + waits)[slowest] / scale, slowest), xytext=(6, 0), textcoords="offset points", va="center",
                      color=figures.VERMILION, fontweight="bold")  # fmt: skip
    shown = range(0, count, max(1, count // 16))
    axis.set_yticks(shown, [f"rank {rank}" for rank in shown])
    axis.set_ylim(count - 0.4, -0.6)
    axis.set_xlabel(f"time of a step [{unit}]")
    figures.horizontal(axis)
    handles = [Patch(color=figures.BLUE, label="computing"), Patch(color=figures.PALE, label="the rest of the rank's step")]
    note = (f"Bars: medians over steps after the warm-up; whiskers: from 5% to 95% of the steps. The slowest, rank {slowest}, computes "
            f"{max(medians[slowest] / usual - 1, 0):.1%} longer than the median rank; 5% make a straggler. {_clock_note(record)}")  # fmt: skip
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 2))


def draw(record: Record, folder: Path, prefix: str = "") -> list[figures.Drawn]:
    """All figures that the record has the data for."""
    if len(record.steps["step"]) == 0:
        return []
    drawn = [figure(record, folder, prefix + figure.__name__) for figure in (loss, step_time, memory, ranks)]
    return [figure for figure in drawn if figure is not None]
