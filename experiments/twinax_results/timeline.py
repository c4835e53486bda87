"""One recorded step as events and curves: what ran when on which lane, and what was in flight meanwhile."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy

from .load import Record

LANES = ("compute", "collective", "service")  # others come after these, by name
KINDS = ("forward", "backward", "optimize", "gather", "reduce", "exchange")
COUNTED = ("gather_credits", "reduction_credits", "memory")  # what ops take and give back


@dataclass(frozen=True)
class Event:
    """One op as it ran; times in seconds since the step began."""

    rank: int
    lane: str
    kind: str
    op: str
    unit: int
    taken: float  # when it had its credits and memory
    begin: float
    end: float
    bytes: int
    takes: dict[str, int]
    gives: dict[str, int]


@dataclass(frozen=True)
class Curve:
    """A quantity that is `values[i]` from `times[i]` on."""

    times: list[float]
    values: list[int]


@dataclass(frozen=True)
class StepTimeline:
    """A step on all ranks."""

    record: Record
    step: int
    events: list[Event]
    has_flight: bool  # whether the record says what ops took and gave back

    @property
    def ranks(self) -> list[int]:
        return sorted({event.rank for event in self.events})

    def lanes_of(self, rank: int) -> list[str]:
        known = {event.lane for event in self.events if event.rank == rank}
        return sorted(known, key=lambda lane: (LANES.index(lane) if lane in LANES else len(LANES), lane))

    @property
    def duration(self) -> float:
        return max(event.end for event in self.events)

    def curve(self, rank: int, what: str) -> Curve:
        """What the rank had in flight: ops take when they are issued and give back when they end."""
        changes = {0.0: 0}
        for event in self.events:
            if event.rank == rank:
                changes[event.taken] = changes.get(event.taken, 0) + event.takes[what]
                changes[event.end] = changes.get(event.end, 0) - event.gives[what]
        times = sorted(changes)
        return Curve(times, [int(value) for value in numpy.cumsum([changes[time] for time in times])])


def kind_of(op: str) -> str:
    """For records that don't say it: by the op's name."""
    first = op.partition(" ")[0]
    return {"norm": "optimize", "total": "exchange"}.get(first, first if first in KINDS else "exchange")


def steps_of(record: Record) -> list[int]:
    """The steps whose timeline was kept."""
    return sorted({int(step) for step in record.timeline.get("step", [])})


def timeline_of(record: Record, step: int | None = None) -> StepTimeline | None:
    """A step's timeline, the last kept one's if no step is named; none if there is none."""
    steps = steps_of(record)
    if not steps or (step is not None and step not in steps):
        return None
    step = steps[-1] if step is None else step
    columns = {name: values[record.timeline["step"] == step] for name, values in record.timeline.items()}
    has_flight = "taken_seconds" in columns
    taken = columns["taken_seconds"] if has_flight else columns["begin_seconds"]
    start = min(float(taken.min()), float(columns["begin_seconds"].min()))
    names = {"gather_credits": ("gather_credits_taken", "gather_credits_given"), "memory": ("memory_taken_bytes", "memory_given_bytes"),
             "reduction_credits": ("reduction_credits_taken", "reduction_credits_given")}  # fmt: skip

    def counted(i: int, side: int) -> dict[str, int]:
        return {what: int(columns[names[what][side]][i]) if has_flight else 0 for what in COUNTED}

    events = [
        Event(rank=int(columns["rank"][i]), lane=str(columns["lane"][i]), op=str(columns["op"][i]), unit=int(columns["unit"][i]),
              kind=str(columns["kind"][i]) if "kind" in columns else kind_of(str(columns["op"][i])), taken=float(taken[i]) - start,
              begin=float(columns["begin_seconds"][i]) - start, end=float(columns["end_seconds"][i]) - start, bytes=int(columns["bytes"][i]),
              takes=counted(i, 0), gives=counted(i, 1))
        for i in range(len(taken))
    ]  # fmt: skip
    return StepTimeline(record, step, events, has_flight)


def write_trace(timeline: StepTimeline, path: Path) -> None:
    """The step in the Chrome and Perfetto trace format: a process a rank, a thread a lane, counters for what is in flight; times by the wall clock."""
    events = []
    for rank in timeline.ranks:
        lanes = timeline.lanes_of(rank)
        events.append({"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}})
        events += [{"ph": "M", "name": "thread_name", "pid": rank, "tid": i, "args": {"name": lane}} for i, lane in enumerate(lanes)]
        for event in (event for event in timeline.events if event.rank == rank):
            events.append({"ph": "X", "name": event.op, "cat": event.kind, "pid": rank, "tid": lanes.index(event.lane), "ts": _microseconds(event.begin),
                           "dur": _microseconds(event.end - event.begin), "args": {"unit": event.unit, "step": timeline.step, "bytes": event.bytes}})  # fmt: skip
        for what in COUNTED if timeline.has_flight else ():
            curve = timeline.curve(rank, what)
            name = {"memory": "memory in flight [B]"}.get(what, what.replace("_", " "))
            events += [{"ph": "C", "name": name, "pid": rank, "tid": 0, "ts": _microseconds(time), "args": {"value": value}}
                       for time, value in zip(curve.times, curve.values, strict=True)]  # fmt: skip
    aside = path.with_name(path.name + ".part")
    text = ",\n".join(json.dumps(event) for event in events)
    aside.write_text(f'{{"displayTimeUnit":"ms","traceEvents":[\n{text}\n]}}\n', encoding="utf-8")
    aside.replace(path)


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 3)
