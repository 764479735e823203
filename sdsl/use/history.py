"""What each step reports, as one row of a table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # half a second, and only where a table is asked for
    import pandas as pd

NONE = float("nan")


@dataclass
class Record:
    """One step. Not a number: the method has no such thing, or the segment was empty."""

    step: int
    rows: int
    shares: list[float]  # of each class among the labels given
    gold_trust: float = NONE  # 0 to 1, by overlap and agreement; the same for every method
    gold_weight: float = NONE  # the trust by which the method itself weighs gold
    drift: float = NONE  # how far class means moved since the last step, in spreads
    confidence: float = NONE  # mean over the rows, of the label given
    rounds: float = NONE  # that labelling took
    seconds: float = 0.0
    far: float = NONE  # share of rows far from anything seen
    far_predicted: int = 0  # far rows that `predict` was asked for since
    valley: float = NONE  # rows between the two nearest classes; about 1: they are one heap
    warnings: list[str] = field(default_factory=list)

    def numbers(self, classes: Sequence[str]) -> dict[str, float]:
        """Name -> number, as it stands in a table and is logged."""
        plain = asdict(self)
        shares = plain.pop("shares")
        del plain["warnings"]
        found: dict[str, Any] = {}
        for name, value in plain.items():
            found[name] = value
            if name == "drift":
                named = zip(classes, shares, strict=True)
                found |= {f"share_{label}": share for label, share in named}
        return found


def table(records: Sequence[Record], classes: Sequence[str]) -> "pd.DataFrame":
    """One row per step."""
    import pandas as pd

    columns = [*Record(0, 0, [NONE] * len(classes)).numbers(classes), "warnings"]
    rows = [r.numbers(classes) | {"warnings": "; ".join(r.warnings)} for r in records]
    return pd.DataFrame(rows, columns=columns)
