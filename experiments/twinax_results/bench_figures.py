"""The figures of a benchmark: rates or times against sizes, a line for each algorithm or test."""

from pathlib import Path

import numpy
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from . import figures, words
from .load import Record


def _clock_note(record: Record) -> str:
    if not record.is_emulated:
        return "On the machine's own network."
    return f"Emulated: {words.network(record.environment['network'])}; {words.digits(record.dilation)} s by the wall clock stand for 1 s."


def _lines(axis, record: Record, chosen: numpy.ndarray, names: numpy.ndarray, values: numpy.ndarray, spans) -> list[Line2D]:
    """A line with its intervals for each name among the chosen figures; returns what stands for them in a legend."""
    handles = []
    for i, name in enumerate(dict.fromkeys(names[chosen])):
        mine = chosen & (names == name)
        colour, marker = figures.CYCLE[i % len(figures.CYCLE)], figures.MARKERS[i % len(figures.MARKERS)]
        sizes = record.bench["bytes"][mine]
        axis.plot(sizes, values[mine], color=colour, marker=marker, markersize=4)
        axis.fill_between(sizes, spans[0][mine], spans[1][mine], color=colour, alpha=0.18, linewidth=0)
        handles.append(Line2D([], [], color=colour, marker=marker, label=name))
    return handles


def _size(value: float) -> str:
    """64 KiB; without digits that say nothing."""
    scale, unit = words.unit_of(value, words.BYTE_UNITS)
    return f"{value / scale:.3g} {unit}"


def _axes(axis, sizes: numpy.ndarray) -> None:
    """Both logarithmic; measured sizes below, as many as there is room for, and plain digits beside."""
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    different = numpy.unique(sizes)
    ticks = different[:: -(-len(different) // 6)] if len(different) else different
    axis.set_xticks(ticks, [_size(float(tick)) for tick in ticks])
    axis.minorticks_off()
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:.6g}" if value >= 1e-4 else f"{value:.0e}")
    axis.set_xlabel("size")


def bus_bandwidth(record: Record, test: str, folder: Path, name: str) -> figures.Drawn:
    """A collective by all its algorithms."""
    figure, (axis,) = figures.begin(f"{test} on {record.environment['ranks']} ranks: {record.name}", 3.6)
    bench, pace = record.bench, record.dilation / 1e9
    low, high = (bench["bus_bytes_per_second"] * bench["seconds"] / bench[f"seconds_{end}"] * pace for end in ("high", "low"))
    chosen = bench["test"] == test
    handles = _lines(axis, record, chosen, bench["algorithm"], bench["bus_bytes_per_second"] * pace, (low, high))
    _axes(axis, bench["bytes"][chosen])
    axis.set_ylabel("bus bandwidth [GB/s]")
    note = f"Medians with 95% intervals; what each rank must send at least, over the time of the slowest. {_clock_note(record)}"
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 6))


def messages(record: Record, folder: Path, name: str) -> figures.Drawn:
    """Messages between ranks: latency, and rates."""
    figure, (left, right) = figures.begin(f"Messages between ranks: {record.name}", 3.6, 2)
    bench = record.bench
    is_pair = numpy.char.startswith(bench["test"], "all-pairs")
    is_latency = bench["test"] == "latency"
    times = [bench[column] / record.dilation * 1e6 for column in ("seconds", "seconds_low", "seconds_high")]
    _lines(left, record, is_latency, bench["test"], times[0], times[1:])
    left.set_ylabel("one way [µs]")
    left.set_title("Latency")
    rates = [bench["bytes"] / time / 1e3 for time in times]
    handles = _lines(right, record, ~is_pair & ~is_latency, bench["test"], rates[0], (rates[2], rates[1]))
    right.set_ylabel("rate [GB/s]")
    right.set_title("Rate")
    for axis, chosen in ((left, is_latency), (right, ~is_pair & ~is_latency)):
        _axes(axis, bench["bytes"][chosen])
    note = f"Medians with 95% intervals. {_clock_note(record)}"
    return figures.finish(figure, folder, name, note, figures.legend_above(figure, handles, 4) if handles else 0)


def draw(record: Record, folder: Path, prefix: str = "") -> list[figures.Drawn]:
    """All figures that the record has the data for."""
    tests = list(dict.fromkeys(record.bench["test"][record.bench["algorithm"] != ""]))
    drawn = [bus_bandwidth(record, test, folder, prefix + test) for test in tests if test != "barrier"]
    if (record.bench["algorithm"] == "").any():
        drawn.append(messages(record, folder, prefix + "messages"))
    return drawn


def line(record: Record) -> str:
    """A benchmark in a line."""
    bench = record.bench
    parts = [f"bench, {len(bench['test'])} figures on {record.environment['ranks']} ranks, {record.environment['transport']}"]
    if record.is_emulated:
        parts.append(f"emulated {words.network(record.environment['network'])}")
    wrong = int(bench["wrong"][bench["wrong"] > 0].sum())
    parts.append(f"{wrong} WRONG elements" if wrong else "all checked elements right" if (bench["wrong"] == 0).any() else "unchecked")
    if "oversubscribed" in record.flags:
        parts.append("oversubscribed: more ranks than cores")
    if not record.is_complete:
        parts.append("incomplete: it is still running, or was ended before its time")
    return "; ".join(parts) + "."
