"""Opens records and sweep indices, finished or not, and says in one line what is wrong with those that can't be read."""

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy

from .published import Published

RECORD_SCHEMA = "twinax-record/1"
INDEX_SCHEMA = "twinax-index/1"

# What the figures can't do without; a record may have more.
STEP_COLUMNS = (
    "step", "seconds", "tokens", "loss", "compute_seconds", "exposed_communication_seconds", "hidden_communication_seconds",
    "lower_bound_seconds", "memory_peak_bytes", "in_flight_peak", "in_flight_bytes_peak",
)  # fmt: skip
RANK_COLUMNS = ("seconds", "compute_seconds", "waiting_seconds", "memory_peak_bytes")
EVALUATION_COLUMNS = ("step", "loss", "bits_per_byte", "tokens")
TIMELINE_COLUMNS = ("rank", "lane", "op", "unit", "step", "begin_seconds", "end_seconds", "bytes")
BENCH_COLUMNS = ("test", "algorithm", "bytes", "seconds", "seconds_low", "seconds_high", "bus_bytes_per_second", "wrong")


class LoadError(Exception):
    """A file that can't be used; the message names it, in one line."""


@dataclass(frozen=True)
class Record:
    """One run. Columns are arrays by name; those of `ranks` are [step, rank]."""

    path: Path
    kind: str
    name: str
    command: str
    created_utc: str
    is_complete: bool
    config: dict
    point: dict
    repeat: int
    warmup_steps: int
    parameters: int
    stands_for: str
    flags: tuple[str, ...]
    dilation_drift: float
    environment: dict
    steps: dict[str, numpy.ndarray]
    ranks: dict[str, numpy.ndarray]
    evaluation: dict[str, numpy.ndarray]
    timeline: dict[str, numpy.ndarray] = field(default_factory=dict)  # events of the steps that were kept, by the first rank's clock
    bench: dict[str, numpy.ndarray] = field(default_factory=dict)  # of a benchmark

    @property
    def dilation(self) -> float:
        """Wall-clock seconds that stand for one second of the emulated cluster."""
        return self.environment["dilation"]

    @property
    def is_emulated(self) -> bool:
        """Whether the network or the accelerator is not the machine's own."""
        return bool(self.environment["network"] or self.environment["accelerator"])

    @property
    def model_factor(self) -> float:
        """How many times longer a step of the model stood for takes than one of that which was run; 1 if no other is named."""
        return self.environment["model_factor"]

    @property
    def wall_per_second(self) -> float:
        """Wall-clock seconds that stand for one second of the emulated training.

        The dilation is for the model that was run. The one stood for computes and sends many times more, at latencies that the emulation has
        shrunk by as much, so that a step of it takes as many times longer.
        """
        return self.dilation / self.model_factor

    def measured(self, column: str) -> numpy.ndarray:
        """A column of /steps after the warm-up steps."""
        return self.steps[column][max(self.warmup_steps, 0) :]


@dataclass(frozen=True)
class SweepRun:
    """One recorded run of a sweep, as its index names it."""

    point: dict
    repeat: int
    path: Path


@dataclass(frozen=True)
class Trial:
    """A run that was made to find the largest value that fits, or that ran out of memory; `value` is -1 if nothing was looked for."""

    point: dict
    value: int
    retries: int
    outcome: str
    reason: str = ""  # what did not fit
    stalled_seconds: float = math.nan  # nothing was issued, since memory was waited for; of the rank that waited the longest


@dataclass(frozen=True)
class Sweep:
    """A sweep's index, and the records of it that are complete."""

    path: Path
    name: str
    title: str
    axes: dict[str, list[str]]
    points: list[dict]
    baseline: dict
    warmup_steps: int
    stands_for: str
    runs: list[SweepRun]
    records: list[Record] = field(default_factory=list)
    fit: str = ""  # the key of which each point has the largest value that fits
    trials: list[Trial] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # a line for each file that is not in the statistics


def _text(value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _open(path: Path) -> h5py.File:
    """Opens plainly, or beside a writer, or after a killed one: without locks."""
    if not path.is_file():
        raise LoadError(f"{path}: there is no such file")
    if not h5py.is_hdf5(path):
        raise LoadError(f"{path}: is no HDF5 file")
    try:
        return h5py.File(path, "r", locking=False)
    except OSError:
        pass
    try:
        return h5py.File(path, "r", swmr=True, locking=False)
    except OSError as error:
        raise LoadError(f"{path}: can't be opened: {str(error).splitlines()[0]}") from None


def _check_schema(file: h5py.File, path: Path, wanted: str) -> None:
    schema = _text(file.attrs.get("schema", ""))
    family = wanted.partition("/")[0]
    if schema == wanted:
        return
    if schema.startswith(family + "/"):
        raise LoadError(f"{path}: is of schema {schema}, this report reads {wanted}; use a newer twinax")
    raise LoadError(f'{path}: is no {family} (its schema is "{schema}")')


def _attributes(group, names: tuple[str, ...], path: Path) -> dict:
    values = {}
    for name in names:
        if name not in group.attrs:
            raise LoadError(f"{path}: lacks the attribute {name} of {group.name}")
        value = group.attrs[name]
        values[name] = _text(value) if isinstance(value, (bytes, str)) else value.item()
    return values


def _toml(text: str, path: Path, what: str) -> dict:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LoadError(f"{path}: {what} is no TOML: {error}") from None


def _columns(file: h5py.File, group: str, needed: tuple[str, ...], path: Path) -> dict[str, numpy.ndarray]:
    """All columns of a group, cut to the shortest: the others have grown since."""
    missing = [name for name in needed if f"{group}/{name}" not in file]
    if missing:
        raise LoadError(f"{path}: lacks {group}/{missing[0]}")
    columns = {name: file[group][name][()] for name in file[group]}
    rows = min(len(column) for column in columns.values())
    return {name: column[:rows] for name, column in columns.items()}


def _whole_steps(steps: dict[str, numpy.ndarray]) -> int:
    """How many steps have arrived: a reader may come between a column's growth and its data, which are -1 or NaN until then."""
    rows = len(steps["step"])
    while rows > 0 and (steps["step"][rows - 1] < 0 or numpy.isnan(steps["seconds"][rows - 1])):
        rows -= 1
    return rows


HEAD = ("schema", "kind", "name", "created_utc", "command", "complete", "stands_for", "parameters", "flags", "dilation_drift", "point",
        "repeat", "warmup_steps")  # fmt: skip
ENVIRONMENT = ("hosts", "ranks", "ranks_per_node", "cpu", "cores", "mpi", "ucx", "hdf5", "compiler", "git_revision", "transport", "network",
               "accelerator", "dilation", "model_factor", "token_factor")  # fmt: skip


def load_record(path: Path) -> Record:
    """Reads a record, also one that is growing or whose writer was killed."""
    with _open(path) as file:
        _check_schema(file, path, RECORD_SCHEMA)
        try:
            return _read_record(file, path)
        except (KeyError, OSError) as error:
            raise LoadError(f"{path}: is damaged: {str(error).splitlines()[0]}") from None


def _read_record(file: h5py.File, path: Path) -> Record:
    head = _attributes(file, HEAD, path)
    steps = _columns(file, "/steps", STEP_COLUMNS, path)
    ranks = _columns(file, "/ranks", RANK_COLUMNS, path)
    rows = min(_whole_steps(steps), len(ranks["seconds"]))
    return Record(
        path=path,
        is_complete=head["complete"] == 1,
        config=_toml(_text(file["/config"][()]), path, "/config"),
        point=_toml(head["point"], path, "the attribute point"),
        flags=tuple(head["flags"].split()),
        environment=_attributes(file["/environment"], ENVIRONMENT, path),
        steps={name: column[:rows] for name, column in steps.items()},
        ranks={name: column[:rows] for name, column in ranks.items()},
        evaluation=_columns(file, "/evaluation", EVALUATION_COLUMNS, path),
        timeline=_timeline(file, path),
        bench=_bench(file, path) if head["kind"] == "bench" else {},
        **{name: head[name] for name in ("kind", "name", "command", "created_utc", "repeat", "warmup_steps", "parameters", "stands_for",
                                         "dilation_drift")},
    )  # fmt: skip


def _as_texts(columns: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """The same columns, texts as such."""
    return {name: numpy.array([_text(v) for v in values], dtype=str) if values.dtype.kind in "SO" else values for name, values in columns.items()}


def _bench(file: h5py.File, path: Path) -> dict[str, numpy.ndarray]:
    return _as_texts(_columns(file, "/bench", BENCH_COLUMNS, path))


def _timeline(file: h5py.File, path: Path) -> dict[str, numpy.ndarray]:
    """The events that have arrived, all ranks' times by the first rank's clock."""
    columns = _as_texts(_columns(file, "/timeline", TIMELINE_COLUMNS, path))
    arrived = (columns["rank"] >= 0) & numpy.isfinite(columns["begin_seconds"]) & numpy.isfinite(columns["end_seconds"])
    columns = {name: values[arrived] for name, values in columns.items()}
    offsets = file["/clocks/offset_seconds"][()]
    if len(columns["rank"]) and columns["rank"].max() < len(offsets):
        for name in ("begin_seconds", "end_seconds", "taken_seconds"):
            if name in columns:
                columns[name] = columns[name] - offsets[columns["rank"]]
    return columns


def load_index(path: Path) -> Sweep:
    """Reads a sweep's index alone; load_sweep reads its records as well."""
    with _open(path) as file:
        _check_schema(file, path, INDEX_SCHEMA)
        try:
            return _read_index(file, path)
        except (KeyError, OSError) as error:
            raise LoadError(f"{path}: is damaged: {str(error).splitlines()[0]}") from None


def _read_index(file: h5py.File, path: Path) -> Sweep:
    head = _attributes(file, ("name", "title", "baseline", "warmup_steps", "stands_for"), path)
    keys = [_text(key) for key in file["/axes/key"][()]]
    runs = zip(file["/runs/point"][()], file["/runs/repeat"][()], file["/runs/file"][()], strict=True)
    return Sweep(
        path=path,
        name=head["name"],
        title=head["title"],
        axes={key: [_text(value) for value in file[f"/axes/values_{i}"][()]] for i, key in enumerate(keys)},
        points=[_toml(_text(point), path, "a point") for point in file["/points"][()]],
        baseline=_toml(head["baseline"], path, "the baseline"),
        warmup_steps=head["warmup_steps"],
        stands_for=head["stands_for"],
        fit=_text(file.attrs.get("fit", "")),
        trials=_trials(file, path),
        published=_published(file, path),
        runs=[SweepRun(_toml(_text(p), path, "a run's point"), int(r), path.parent / _text(f)) for p, r, f in runs],
    )


def _trials(file: h5py.File, path: Path) -> list[Trial]:
    if "/trials" not in file:
        return []
    columns = [file[f"/trials/{name}"][()] for name in ("point", "value", "retries", "outcome")]
    columns.append(file["/trials/reason"][()] if "/trials/reason" in file else [""] * len(columns[0]))
    return [Trial(_toml(_text(p), path, "a trial's point"), int(v), int(r), _text(o), _text(w)) for p, v, r, o, w in zip(*columns, strict=True)]


def _published(file: h5py.File, path: Path) -> list[Published]:
    if "/published" not in file:
        return []
    columns = (file[f"/published/{name}"][()] for name in ("name", "label", "source", "where", "efficiency", "speedup", "batch"))
    return [
        Published(_text(name), _text(label), _text(source), _toml(_text(where), path, "where of a published row"), float(efficiency), float(speedup), float(batch))
        for name, label, source, where, efficiency, speedup, batch in zip(*columns, strict=True)
    ]


def _why_left_out(run: SweepRun, record: Record) -> str:
    if not record.is_complete:
        return f"{record.path}: is incomplete ({len(record.steps['step'])} steps so far)"
    if record.point != run.point or record.repeat != run.repeat:
        return f"{record.path}: is not the run that the index names"
    if len(record.measured("seconds")) == 0:
        return f"{record.path}: has no step after its {record.warmup_steps} warm-up steps"
    return ""


def load_sweep(path: Path) -> Sweep:
    """Reads a sweep's index and the records that it names; those that can't count are named in `left_out`."""
    sweep = load_index(path)
    for run in sweep.runs:
        try:
            record = load_record(run.path)
        except LoadError as error:
            sweep.left_out.append(str(error))
            continue
        reason = _why_left_out(run, record)
        if reason:
            sweep.left_out.append(reason)
        else:
            sweep.records.append(record)
    return sweep


def schema_of(path: Path) -> str:
    """What a file says that it is."""
    with _open(path) as file:
        return _text(file.attrs.get("schema", ""))


def _files_in(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.glob("*.h5")) if path.is_dir() else [path]


def _load(files: list[Path]) -> tuple[set[Path], list[Record], list[str]]:
    """Which files are indices, the records among the others, and what can't be read."""
    indices, records, problems = set(), [], []
    for path in files:
        try:
            if schema_of(path).startswith("twinax-index/"):
                load_index(path)
                indices.add(path)
            else:
                records.append(load_record(path))
        except LoadError as error:
            problems.append(str(error))
    return indices, records, problems


def load_all(paths: list[Path]) -> tuple[list[Sweep], list[Record], list[str]]:
    """The sweeps and single records among files and folders, and a line for each file that can't be read.

    A record of a sweep belongs to the index beside it, given or not.
    """
    files = list(dict.fromkeys(_files_in(paths)))
    if not files:
        raise LoadError(f"{paths[0]}: has no records (*.h5)")
    indices, records, problems = _load(files)
    beside = {record.path.parent / "index.h5" for record in records if record.point}
    given = {path.resolve() for path in files}
    indices |= {path for path in beside if path.is_file() and path.resolve() not in given}
    sweeps = {path.parent.resolve(): load_sweep(path) for path in sorted(indices)}
    named = {run.path.resolve() for sweep in sweeps.values() for run in sweep.runs}
    problems = [problem for problem in problems if not any(problem in sweep.left_out for sweep in sweeps.values())]
    singles = []
    for record in (record for record in records if record.path.resolve() not in named):
        sweep = sweeps.get(record.path.parent.resolve()) if record.point else None
        if sweep is None:
            singles.append(record)
        else:
            state = "is not named by the sweep's index" if record.is_complete else "is incomplete and not yet in the sweep's index"
            sweep.left_out.append(f"{record.path}: {state}")
    return list(sweeps.values()), singles, problems
