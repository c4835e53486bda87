"""Figures that were published elsewhere: which points they belong to."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Published:
    """A row of figures; NaN where none is given."""

    name: str
    label: str
    source: str
    where: dict = field(default_factory=dict)  # axis values that it belongs to; axes left out may have any
    efficiency: float = math.nan  # of scaling, a share
    speedup: float = math.nan  # step time without limiter / with the row's
    batch: float = math.nan  # of a rank

    def is_of(self, values: dict) -> bool:
        """Whether the row belongs to a point with these values on its axes."""
        return all(values.get(key) == value for key, value in self.where.items())
