"""A sweep's table: as aligned text, and as rows for the page."""

from . import chain, speedup, words
from .load import Record
from .summary import RANKS, Point, SweepSummary, figures_of


def _estimate(estimate, scale: float) -> str:
    text = words.digits(estimate.value / scale)
    if estimate.has_interval:
        text += f" [{words.digits(estimate.low / scale)}, {words.digits(estimate.high / scale)}]"
    return text


def _share(point: Point, part: str) -> str:
    """A part's share of the step; the parts are medians, so that they add up but roughly."""
    whole = point.estimate("wall").value
    return f"{point.estimate(part).value / whole:.0%}" if point.records else "-"


def _slowdown(point: Point) -> str:
    if point.is_oversubscribed:
        return "oversubscribed"
    if point.ran_out and not point.records:
        return "out of memory"
    if point.is_reference and point.records:
        return "1 (baseline)"
    return words.ratio(point.slowdown)


def _compared(made: chain.Chain | None, point: Point) -> str:
    """The slowdown; of a chain, in which batches differ, the efficiency."""
    if made is None or point.is_oversubscribed or not point.records:
        return _slowdown(point)
    if point.values[RANKS] == made.fewest:
        return "1 (baseline)"
    return words.ratio(made.efficiency_of(point)) if point.values[RANKS] == made.most else "-"


def rows_of(summary: SweepSummary) -> tuple[list[str], list[list[str]]]:
    """The head and the rows. Times have one unit a column, so that they compare at a glance."""
    longest = max((p.estimate("wall").value for p in summary.points if p.records), default=1.0)
    longest_cluster = max((p.estimate("cluster").value for p in summary.points if p.records), default=1.0)
    wall_scale, wall_unit = words.unit_of(longest, words.TIME_UNITS)
    scale, unit = words.unit_of(longest_cluster, words.TIME_UNITS)
    clock = "emulated" if summary.is_emulated else "measured"
    fit = [f"{summary.sweep.fit} that fits"] if summary.sweep.fit else []
    head = [*summary.sweep.axes, *fit, "runs", f"step, wall [{wall_unit}]"]
    if summary.is_emulated:
        head.append(f"step, emulated [{unit}]")
    made = chain.chain_of(summary)
    head += ["efficiency" if made else "slowdown", f"tokens/s, {clock}", "hidden", "exposed", "x bound", "in flight", "peak memory"]
    rows = []
    for point in summary.points:
        row = [str(point.values[key]) for key in summary.sweep.axes]
        row += [str(point.fitted) if point.fitted is not None else "none"] if summary.sweep.fit else []
        row += [str(point.runs), _estimate(point.estimate("wall"), wall_scale)]
        if summary.is_emulated:
            row.append(_estimate(point.estimate("cluster"), scale))
        row += [_compared(made, point), words.count(point.estimate("tokens_per_second").value)]
        row += [_share(point, "hidden"), _share(point, "exposed"), words.ratio(point.estimate("bound_ratio"), with_interval=False)]
        row += [words.bytes_(point.estimate(name).value) for name in ("in_flight_bytes", "memory_bytes")]
        rows.append(row)
    return head, rows


def aligned(head: list[str], rows: list[list[str]]) -> str:
    """Columns of text, names to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    is_number = [all(row[i][:1].isdigit() or row[i][:1] == "-" for row in rows) for i in range(len(head))]

    def line(row: list[str]) -> str:
        cells = (cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(row, widths, is_number, strict=True))
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])


def notes_of(summary: SweepSummary) -> list[str]:
    """What must be known beside the table: what the clocks are, what is flagged, what is left out."""
    notes = []
    if summary.is_emulated and summary.sweep.records:
        paces = sorted({record.wall_per_second for record in summary.sweep.records})
        span = " to ".join(words.digits(pace) for pace in dict.fromkeys((paces[0], paces[-1])))
        notes.append(f"Emulated: 1 s of the training stood for took {span} s by the wall clock here.")
        record = summary.sweep.records[0]
        if record.model_factor != 1:
            notes.append(
                f"The model that was run has {words.count(record.parameters)} parameters; a step of the one stood for takes {words.digits(record.model_factor)} "
                f"times as long in the same proportions; memory is that of the model that was run; a rank was {words.digits(record.dilation)} times slower than "
                "what it stands for."
            )
    if any(point.records for point in summary.points):
        notes.append("Medians over runs with 95% intervals; hidden and exposed are the share of the step in which communication runs beside "
                     "computing, or alone; x bound is the step's time over its lower bound.")  # fmt: skip
    if summary.sweep.fit:
        notes.append(f"{summary.sweep.fit} that fits: the largest for which short trials ran within the memory budget and never had to wait for memory.")
    made = chain.chain_of(summary)
    notes += chain.notes_of(made) if made else speedup.notes_of(speedup.speedups_of(summary))
    notes += summary.flags()
    return notes + [f"Left out: {line}." for line in summary.sweep.left_out]


def run_line(record: Record) -> str:
    """A single run in a line."""
    steps = len(record.steps["step"])
    parts = [f"{record.kind}, {steps} steps on {record.environment['ranks']} rank{'s' if record.environment['ranks'] != 1 else ''}"]
    if len(record.measured("seconds")):
        run = figures_of(record)
        parts.append(f"a step takes {words.seconds(run['wall'])}")
        if record.is_emulated:
            network = words.network(record.environment["network"] or "none")
            parts[-1] += f" by the wall clock, {words.seconds(run['cluster'])} emulated, on {network}"
        parts.append(f"{run['exposed'] / run['wall']:.0%} of it waits for the network")
        parts.append(f"{words.digits(run['bound_ratio'])} times its lower bound")
    if steps:
        parts.append(f"loss {words.digits(float(record.steps['loss'][-1]), 4)} nat a token")
    if len(record.evaluation["loss"]):
        parts.append(f"{words.digits(float(record.evaluation['bits_per_byte'][-1]), 4)} bits a byte on held-out text")
    if record.is_emulated and record.stands_for:
        parts.append(f"stands for {record.stands_for}")
    if "oversubscribed" in record.flags:
        parts.append("oversubscribed: more ranks than cores")
    if not record.is_complete:
        parts.append("incomplete: it is still running, or was ended before its time")
    return "; ".join(parts) + "."
