"""python -m twinax_results FILES.. -o DIR: a table and a sentence on stdout; figures and report.html in DIR.

FILES are records, sweep indices or folders of them. `twinax report` calls it. The exit code is 1 if nothing could be read, 0 otherwise;
files that can't be read are named on stderr.
"""

import argparse
import os
import re
import statistics
import sys
from pathlib import Path

from .load import LoadError, Record, Sweep, load_all
from .timeline import StepTimeline, timeline_of, write_trace


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="twinax report", description="Draw figures, a table and report.html from records.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="records (HDF5), a sweep's index.h5, or folders of them")
    parser.add_argument("-o", "--out", required=True, type=Path, metavar="DIR", help="directory that the report is written to")
    if arguments[:1] == ["report"]:
        arguments = arguments[1:]
    return parser.parse_args(arguments)


def slug(name: str) -> str:
    """A name that is safe in a file's name."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", name) or "run"


def prefixes(sweeps: list[Sweep], singles: list[Record]) -> list[str]:
    """What the names of each subject's figures begin with: nothing if there is one subject."""
    names = [slug(subject.name) for subject in [*sweeps, *singles]]
    if len(names) == 1:
        return [""]
    return [f"{name}-" if names.count(name) == 1 else f"{name}-{i + 1}-" for i, name in enumerate(names)]


def representative(records: list[Record]) -> Record:
    """The run whose recorded step takes most nearly as long as the steps of all."""
    def distance(record: Record) -> float:
        timeline = timeline_of(record)
        return abs(timeline.duration - usual) if timeline else float("inf")

    usual = statistics.median(float(value) for record in records for value in record.measured("seconds"))
    return min(records, key=distance)


def shown_steps(named: list[tuple[str, str, Record]], out: Path) -> list[tuple[str, StepTimeline, Path]]:
    """(name, timeline, trace) of the records' last kept steps; writes the traces. `named` are (name, file's stem, record)."""
    shown = []
    for name, stem, record in named:
        timeline = timeline_of(record)
        if timeline is not None:
            trace = out / f"{stem}.trace.json"
            write_trace(timeline, trace)
            shown.append((name, timeline, trace))
    return shown


def report(sweeps: list[Sweep], singles: list[Record], problems: list[str], out: Path) -> None:
    """Writes everything."""
    from . import bench_figures, page, run_figures, sweep_figures, table  # matplotlib takes a second to load: not before the files were found good
    from .summary import SweepSummary
    from .verdict import verdict_of

    out.mkdir(parents=True, exist_ok=True)
    names = iter(prefixes(sweeps, singles))
    sections, figures = [], []
    for sweep in sweeps:
        summary = SweepSummary(sweep)
        prefix = next(names)
        drawn = sweep_figures.draw(summary, out, prefix)
        chosen = [(point.label, representative(point.records)) for point in summary.points if point.records]
        steps = shown_steps([(f"{label} (run {record.repeat + 1})", prefix + record.path.stem, record) for label, record in chosen], out)
        print(f"{sweep.title}\n\n{table.aligned(*table.rows_of(summary))}\n")
        print("\n".join(table.notes_of(summary)) + f"\n\n{verdict_of(summary)}\n")
        sections.append(page.sweep_section(summary, drawn, page.timelines(steps)))
        figures += drawn
    for record in singles:
        is_bench = record.kind == "bench"
        prefix = next(names)
        drawn = (bench_figures if is_bench else run_figures).draw(record, out, prefix)
        line = bench_figures.line(record) if is_bench else table.run_line(record)
        print(f"{record.name}: {line}\n")
        steps = shown_steps([(record.name, prefix + "timeline", record)], out)
        sections.append(page.run_section(record, line, drawn, page.timelines(steps)))
        figures += drawn
    page.write_page(out / "report.html", sections, problems)
    print(f"{len(figures)} figures (PNG and SVG) and report.html are in {out}")


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        sweeps, singles, problems = load_all(options.files)
        for problem in problems:
            print(f"twinax report: {problem}", file=sys.stderr)
        if not sweeps and not singles:
            return 1
        report(sweeps, singles, problems, options.out)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who reads the table has seen enough
    except (LoadError, OSError) as error:
        print(f"twinax report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
