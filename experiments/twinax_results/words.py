"""Numbers and names as people read them."""

import math
import re

from .statistics import Estimate

TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
BYTE_UNITS = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
COUNT_UNITS = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1.0, ""))
NETWORK_NAMES = {"ethernet": "Ethernet", "infiniband": "InfiniBand", "roce": "RoCE", "efa": "EFA", "nvlink": "NVLink"}


def unit_of(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    """The largest unit in which the value is 1 or more."""
    return next((unit for unit in units if abs(value) >= unit[0] * 0.9995), units[-1])


def digits(value: float, significant: int = 3) -> str:
    """Plain digits, never an exponent: 0.0123, 1.23, 12.3, 1234."""
    if math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    places = significant - 1 - math.floor(math.log10(abs(float(f"{value:.{significant - 1}e}"))))
    return f"{value:.{max(places, 0)}f}"


def quantity(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """With the unit that suits it."""
    if math.isnan(value):
        return "-"
    scale, name = unit_of(value, units)
    return f"{digits(value / scale)} {name.strip()}".strip()


def seconds(value: float) -> str:
    return quantity(value, TIME_UNITS)


def bytes_(value: float) -> str:
    return quantity(value, BYTE_UNITS)


def count(value: float) -> str:
    """1.3 billion."""
    return quantity(value, COUNT_UNITS)


def ratio(estimate: Estimate, with_interval: bool = True) -> str:
    """1.41 [1.40, 1.43]; without its interval if there is none."""
    if math.isnan(estimate.value):
        return "-"
    if not with_interval or not estimate.has_interval:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def network(name: str) -> str:
    """A profile's name for a figure: ethernet-25g is Ethernet 25G."""
    if name == "none":
        return "the machine's own"
    first, _, rest = name.partition("-")
    return " ".join([NETWORK_NAMES.get(first, first), *(word.upper() for word in rest.split("-") if word)])


def join(parts: list[str]) -> str:
    """a; b; and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


PREFIXES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
            "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}  # fmt: skip
BASES = ("bit/s", "flop/s", "FLOP/s", "B/s", "B", "s", "")


def _parsed(value) -> tuple[float, str, float] | None:
    """(number, base unit, prefix' factor) of 4, 2.5 or "15Gbit/s"; None of anything else."""
    if isinstance(value, (bool, list, dict)):
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z/]*)", str(value))
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    base = next(base for base in BASES if unit.endswith(base) and unit.removesuffix(base) in (*PREFIXES, unit))
    factor = PREFIXES.get(unit.removesuffix(base))
    return None if factor is None or (unit and not base) else (number, base, factor)


def quantities(values: list) -> tuple[list[float], str] | None:
    """All values of an axis in the unit of the first, and that unit; None if one is no quantity of that kind."""
    parsed = [_parsed(value) for value in values]
    if not parsed or any(one is None or one[1] != parsed[0][1] for one in parsed):
        return None
    scale = parsed[0][2]
    unit = re.sub(r"^[^A-Za-z]*", "", str(values[0])) if parsed[0][1] else ""
    return [float(f"{number * factor / scale:.12g}") for number, _, factor in parsed], unit
