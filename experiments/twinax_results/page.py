"""One HTML page that needs nothing beside it: figures embedded, tables, and the conditions under which the runs were made."""

import base64
import html
from pathlib import Path

from . import table, timeline_page, words
from .figures import Drawn
from .load import Record
from .summary import SweepSummary
from .timeline import StepTimeline
from .verdict import verdict_of

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; } h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; border-top: 1px solid #ddd; padding-top: 1.4rem; }
.verdict { font-size: 1.1rem; border-left: 4px solid #0072B2; padding: .3rem 0 .3rem 1rem; margin: 1.2rem 0; }
figure { margin: 1.6rem 0; } figure img { width: 100%; height: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid #e6e6e6; white-space: nowrap; vertical-align: top; }
thead th { border-bottom: 1px solid #8a8a8a; white-space: normal; } td.long { white-space: normal; overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; } li { margin: .2rem 0; } pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: .82rem; }
summary { cursor: pointer; margin: .8rem 0; } .quiet { color: #666; font-size: .9rem; }
""".strip()

CONDITIONS = ("hosts", "cpu", "cores", "ranks", "ranks_per_node", "transport", "network", "accelerator", "dilation", "mpi", "ucx", "hdf5",
              "compiler", "git_revision")  # fmt: skip


def _escape(text) -> str:
    return html.escape(str(text))


def _figure(drawn: Drawn) -> str:
    data = base64.b64encode(drawn.svg.read_bytes()).decode("ascii")
    alt = _escape(f"{drawn.title}. {drawn.note}")
    return f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{data}"></figure>'


def _table(head: list[str], rows: list[list[str]]) -> str:
    def cells(row: list[str], tag: str) -> str:
        return "".join(f"<{tag}>{_escape(cell)}</{tag}>" for cell in row)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{_escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _conditions(records: list[Record]) -> str:
    """Each condition with all the values it had."""
    rows = [("runs", str(len(records))), ("made", _span([record.created_utc for record in records]))]
    rows += [(name, _several([record.environment[name] for record in records])) for name in CONDITIONS]
    rows += [("parameters", _several([record.parameters for record in records])), ("stands for", _several([r.stands_for for r in records]))]
    rows += [("dilation drift", _span([f"{record.dilation_drift:+.1%}" for record in sorted(records, key=lambda r: r.dilation_drift)]))]
    rows += [("flags", _several([" ".join(record.flags) for record in records])), ("command", _several([record.command for record in records], 3))]
    body = "".join(f'<tr><th>{_escape(name)}</th><td class="long">{_escape(value)}</td></tr>' for name, value in rows)
    return f"<details><summary>Conditions of the runs</summary><table>{body}</table></details>"


def _several(values: list, most: int = 8) -> str:
    different = [words.digits(v, 4) if isinstance(v, float) else str(v) for v in dict.fromkeys(values)]
    shown = [value or "none" for value in different[:most]]
    return "; ".join(shown) + (f"; and {len(different) - most} more" if len(different) > most else "")


def _span(values: list[str]) -> str:
    return values[0] if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def timelines(shown: list[tuple[str, StepTimeline, Path]]) -> str:
    """A step of each run: its name, its drawing, and where its trace is. The first is open, the others behind their names."""
    if not shown:
        return ""
    parts = ["<h3>One step in time</h3>", timeline_page.key(shown[0][1])]
    for i, (name, timeline, trace) in enumerate(shown):
        summary = f"<summary><b>{_escape(name)}</b>: {_escape(timeline_page.line(timeline))}</summary>"
        quiet = f'<p class="quiet">{_escape(timeline_page.note(timeline))}For ui.perfetto.dev or chrome://tracing: {_escape(trace.name)}, beside this page.</p>'
        figure = f"<figure>{timeline_page.svg(timeline)}</figure>"
        parts.append(f"<details{' open' if i == 0 else ''}>{summary}{figure}{quiet}</details>")
    return "\n".join(parts)


def sweep_section(summary: SweepSummary, drawn: list[Drawn], steps: str = "") -> str:
    """A sweep: the sentence, the figures, the table, the conditions."""
    records = sorted(summary.sweep.records, key=lambda record: record.created_utc)
    parts = [f"<h2>{_escape(summary.sweep.title)}</h2>", f'<p class="verdict">{_escape(verdict_of(summary))}</p>']
    parts += [_figure(figure) for figure in drawn]
    parts += [_table(*table.rows_of(summary)), _list(table.notes_of(summary)), steps]
    if records:
        parts.append(_conditions(records))
    return "\n".join(parts)


def run_section(record: Record, line: str, drawn: list[Drawn], steps: str = "") -> str:
    """A single run: what it was, the figures, the conditions, its config."""
    parts = [f"<h2>{_escape(record.name)}</h2>", f"<p>{_escape(line)}</p>"]
    parts += [_figure(figure) for figure in drawn]
    parts += [steps, _conditions([record])]
    return "\n".join(parts)


def write_page(path: Path, sections: list[str], problems: list[str]) -> None:
    """Writes the page aside and renames it, so that a reader sees a whole one."""
    warning = f"<h2>Files that could not be read</h2>{_list(problems)}" if problems else ""
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Twinax results</title><style>{STYLE}
{timeline_page.STYLE}</style></head><body>
<h1>Twinax results</h1>
<p class="quiet">Does this model at this scale need an HPC network, or will Ethernet do?</p>
{chr(10).join(sections)}
{warning}
<div id="tip"></div><script>{timeline_page.SCRIPT}</script>
</body></html>
"""
    aside = path.with_name(path.name + ".part")
    aside.write_text(page, encoding="utf-8")
    aside.replace(path)
