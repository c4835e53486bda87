"""The timeline of a step as a part of the page: lanes as rows, operations as bars with hover texts, and curves of what is in flight."""

import html
import math
from collections.abc import Callable

from . import words
from .figures import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION
from .timeline import KINDS, Event, StepTimeline

COLOURS = {"forward": SKY, "backward": BLUE, "optimize": GREEN, "gather": ORANGE, "reduce": VERMILION, "exchange": PURPLE}
LIGHT_TEXT = ("backward", "reduce")
IDLE = {"compute": "#F7E4DA"}  # the compute lane's empty stretches are what a step loses
PLAIN = "#F3F3F3"
MOST_RANKS = 8  # in the page; the trace has all

WIDTH, LEFT, RIGHT = 980.0, 118.0, 16.0
PLOT = WIDTH - LEFT - RIGHT
CURVE = 62.0
LETTER = 5.6  # of a bar's text

STYLE = """
svg.timeline { width: 100%; height: auto; font: 11px system-ui, sans-serif; display: block; }
svg.timeline rect.op { cursor: default; } svg.timeline rect.op:hover { stroke: #222; stroke-width: 1.4; }
svg.timeline text { fill: #222; } svg.timeline text.light { fill: #fff; } svg.timeline text.in { font-size: 9.5px; pointer-events: none; } svg.timeline .dim { fill: #666; }
svg.timeline line.grid { stroke: #DDD; stroke-width: .8; } svg.timeline path { fill: none; stroke-linejoin: round; }
#tip { position: fixed; display: none; pointer-events: none; background: #222; color: #fff; font: 12px/1.45 system-ui, sans-serif; padding: .45rem .6rem;
 border-radius: 4px; white-space: pre; z-index: 9; }
.key { font-size: .88rem; margin: .5rem 0; } .key span { display: inline-block; margin-right: 1.1rem; }
.key i { display: inline-block; width: .85rem; height: .85rem; margin-right: .35rem; vertical-align: -.1rem; border-radius: 2px; }
""".strip()

# Without the script a browser shows the bars' titles itself, later and plainer.
SCRIPT = """
(() => {
  const tip = document.getElementById('tip');
  for (const title of document.querySelectorAll('svg.timeline title')) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  document.addEventListener('pointermove', (event) => {
    const text = event.target.dataset && event.target.dataset.tip;
    tip.style.display = text ? 'block' : 'none';
    if (!text) return;
    tip.textContent = text;
    const beside = event.clientX + 14 + tip.offsetWidth < innerWidth ? event.clientX + 14 : event.clientX - 14 - tip.offsetWidth;
    const below = event.clientY + 14 + tip.offsetHeight < innerHeight ? event.clientY + 14 : event.clientY - 14 - tip.offsetHeight;
    tip.style.left = beside + 'px';
    tip.style.top = below + 'px';
  });
})();
""".strip()


def _escape(text) -> str:
    return html.escape(str(text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def ticks(most: float, about: int = 8) -> list[float]:
    """Round numbers from 0 to `most`: steps of 1, 2 or 5 times a power of ten."""
    if most <= 0:
        return [0.0]
    least = most / about
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)
    return [i * step for i in range(int(most / step * 1.0001) + 1)]


class _Drawing:
    """A growing SVG with time along x."""

    def __init__(self, duration: float):
        self.duration = duration
        self.backs: list[str] = []
        self.parts: list[str] = []
        self.y = 0.0

    def x(self, seconds: float) -> float:
        return LEFT + PLOT * seconds / self.duration

    def text(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "", weight: str = "") -> None:
        kinds = f' class="{kind}"' if kind else ""
        bold = f' font-weight="{weight}"' if weight else ""
        self.parts.append(f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}"{kinds}{bold}>{_escape(text)}</text>')

    def axis(self, y: float, pace: float, label: str) -> None:
        """Ticks of a clock of which a second takes `pace` here."""
        scale, unit = words.unit_of(self.duration / pace, words.TIME_UNITS)
        places = ticks(self.duration / pace / scale)
        for i, place in enumerate(places):
            digits = max(0, -math.floor(math.log10(places[1])) if len(places) > 1 else 0)
            self.text(self.x(place * scale * pace), y, "0" if i == 0 else f"{place:.{digits}f}", "middle", "dim")
        self.text(LEFT - 8, y, f"{label} [{unit}]", "end", "dim")

    def rectangle(self, begin: float, end: float, y: float, height: float, fill: str, title: str = "") -> None:
        x, width = self.x(begin), max(PLOT * (end - begin) / self.duration, 0.5 if title else 0.0)
        shape = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}" fill="{fill}"'
        if title:
            self.parts.append(f'<rect class="op" {shape}><title>{_escape(title)}</title></rect>')
        else:
            self.backs.append(f"<rect {shape}/>")


def _span(event: Event, duration: float, pace: float) -> str:
    """From when to when, and how long, by the clock of which a second takes `pace` here; in the unit that suits the whole step."""
    scale, unit = words.unit_of(duration / pace, words.TIME_UNITS)
    begin, end = event.begin / pace / scale, event.end / pace / scale
    return f"{begin:.3f} to {end:.3f} {unit}: {words.digits(end - begin)} {unit}"


def _hover(timeline: StepTimeline, event: Event) -> str:
    """What a bar says of itself."""
    lines = [event.op + (f" (unit {event.unit})" if event.unit >= 0 else ""), f"rank {event.rank}, {event.lane} lane, {event.kind}"]
    lines.append(_span(event, timeline.duration, 1.0))
    if timeline.record.is_emulated:
        lines[-1] += " by the wall clock"
        lines.append(_span(event, timeline.duration, timeline.record.wall_per_second) + " emulated")
    if event.bytes:
        lines.append(f"receives {words.bytes_(event.bytes)}")
    if event.takes["memory"]:
        lines.append(f"takes {words.bytes_(event.takes['memory'])}")
    if event.gives["memory"]:
        lines.append(f"gives back {words.bytes_(event.gives['memory'])} at its end")
    return "\n".join(lines)


def _lanes(drawing: _Drawing, timeline: StepTimeline, ranks: list[int]) -> None:
    height = 19.0 if len(ranks) <= 4 else 14.0
    for rank in ranks:
        lanes = timeline.lanes_of(rank)
        drawing.text(4, drawing.y + height * len(lanes) / 2 + 4, f"rank {rank}", weight="bold")
        for lane in lanes:
            events = [event for event in timeline.events if event.rank == rank and event.lane == lane]
            drawing.text(LEFT - 8, drawing.y + height / 2 + 3.5, lane, "end", "dim")
            drawing.rectangle(0, timeline.duration, drawing.y + 1, height - 2, IDLE.get(lane, PLAIN))
            for event in events:
                if event.end > event.begin:
                    drawing.rectangle(event.begin, event.end, drawing.y + 1, height - 2, COLOURS.get(event.kind, INK), _hover(timeline, event))
            for event in events:
                name = event.op.partition(" ")[2] or event.op
                if PLOT * (event.end - event.begin) / timeline.duration > LETTER * len(name) + 4:
                    drawing.text(drawing.x((event.begin + event.end) / 2), drawing.y + height / 2 + 3.2, name, "middle", "in light" if event.kind in LIGHT_TEXT else "in")
            drawing.y += height
        drawing.y += 9.0


def _curves(drawing: _Drawing, timeline: StepTimeline, ranks: list[int], title: str, drawn: dict[str, str], name: Callable[[float], str],
            limit: int = 0) -> None:  # fmt: skip
    """A panel: each quantity's curve of each rank, the first rank's thick."""
    curves = {(what, rank): timeline.curve(rank, what) for what in drawn for rank in ranks}
    most = max([limit, 1, *(max(curve.values) for curve in curves.values())])
    top, bottom = drawing.y + 8, drawing.y + CURVE
    drawing.rectangle(0, timeline.duration, top, bottom - top, "#FAFAFA")
    for value in (0, most):
        y = bottom - (bottom - top) * value / most
        drawing.parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_number(y)}" y2="{_number(y)}"/>')
        drawing.text(LEFT - 8, y + 3.5, name(value), "end", "dim")
    drawing.text(4, (top + bottom) / 2 + 4, title, weight="bold")
    if limit:
        y = bottom - (bottom - top) * limit / most
        drawing.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_number(y)}" y2="{_number(y)}" stroke="{INK}" stroke-dasharray="4 3"/>')
    for (what, rank), curve in reversed(curves.items()):
        points, last = [], 0.0
        for time, value in zip(curve.times, curve.values, strict=True):
            x, y = drawing.x(time), bottom - (bottom - top) * value / most
            points += [f"{_number(x)},{_number(last)}"] if points else []
            points.append(f"{_number(x)},{_number(y)}")
            last = y
        thick = 'stroke-width="1.8"' if rank == ranks[0] else 'stroke-width="1" opacity=".45"'
        drawing.parts.append(f'<path d="M{" L".join(points)}" stroke="{drawn[what]}" {thick}/>')
    drawing.y += CURVE + 10


def limit_of(fsdp: dict[str, object]) -> int:
    """How many units the limiter lets out at once, for gathers and reductions each; 0 where it bounds no count of both."""
    keeps = fsdp.get("strategy") == "keep" or fsdp.get("accumulate") == "local"
    return int(str(fsdp.get("limit", 0))) if fsdp.get("limiter") in ("window", "block", "pingpong") and not keeps else 0


def svg(timeline: StepTimeline) -> str:
    """The drawing."""
    record, ranks = timeline.record, timeline.ranks[:MOST_RANKS]
    drawing = _Drawing(timeline.duration)
    drawing.y = 14.0
    if record.is_emulated:
        drawing.axis(drawing.y - 2, record.wall_per_second, "emulated")
        drawing.y += 8
    top = drawing.y
    _lanes(drawing, timeline, ranks)
    if timeline.has_flight:
        drawn = {"gather_credits": ORANGE, "reduction_credits": VERMILION}
        has_credits = any(event.takes[what] for event in timeline.events for what in drawn)
        limit = limit_of(record.config.get("fsdp", {})) if has_credits else 0
        _curves(drawing, timeline, ranks, "credits", drawn, lambda value: f"{value:.0f}", limit)
        _curves(drawing, timeline, ranks, "memory", {"memory": BLUE}, words.bytes_)
    scale, _ = words.unit_of(timeline.duration, words.TIME_UNITS)
    lines = [
        f'<line class="grid" x1="{_number(drawing.x(place * scale))}" x2="{_number(drawing.x(place * scale))}" y1="{_number(top)}" y2="{_number(drawing.y)}"/>'
        for place in ticks(timeline.duration / scale)
    ]
    drawing.axis(drawing.y + 12, 1.0, "wall clock" if record.is_emulated else "time")
    return (f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {drawing.y + 18:.0f}" role="img" '
            f'aria-label="{_escape(line(timeline))}">{"".join([*drawing.backs, *lines, *drawing.parts])}</svg>')  # fmt: skip


def line(timeline: StepTimeline) -> str:
    """A step in a sentence."""
    record = timeline.record
    long = words.seconds(timeline.duration)
    if record.is_emulated:
        long += f" by the wall clock, {words.seconds(timeline.duration / record.wall_per_second)} emulated"
    parts = [f"step {timeline.step + 1}: {long}"]
    at = [i for i, step in enumerate(record.steps["step"]) if step == timeline.step]
    if at:
        exposed, hidden = (float(record.steps[f"{part}_communication_seconds"][at[0]]) for part in ("exposed", "hidden"))
        parts.append(f"communication {words.seconds(hidden)} hidden beneath computing, {words.seconds(exposed)} exposed")
    return "; ".join(parts)


def key(timeline: StepTimeline) -> str:
    """What the colours mean."""
    kinds = [kind for kind in KINDS if any(event.kind == kind for event in timeline.events)]
    chips = [(COLOURS[kind], kind) for kind in kinds] + [(IDLE["compute"], "nothing computed")]
    return '<p class="key">' + "".join(f'<span><i style="background:{colour}"></i>{name}</span>' for colour, name in chips) + "</p>"


def note(timeline: StepTimeline) -> str:
    """What the reader must know of the drawing."""
    ranks = timeline.ranks
    text = "Rows are the lanes of each rank; what a bar is shows when the pointer rests on it. "
    if timeline.has_flight:
        text += ("Below: credits of the limiter that are out (orange: gathered units; red: reductions; dashed: the limit; the root unit takes none), "
                 "and the memory of gathered units and gradients; thick: the first rank. ")  # fmt: skip
    if len(ranks) > MOST_RANKS:
        text += f"{len(ranks) - MOST_RANKS} of {len(ranks)} ranks are in the trace only. "
    return text
