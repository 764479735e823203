"""NaN never passes for a result: numbers that have left the range of float32 end a run.

The checks are one reduction each, over parameters or scores that exist anyway.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sdsl.errors import UserError


class NotFinite(UserError):
    """Says at which step, in which part, and what to try."""


def all_finite(tensors: Sequence[Tensor]) -> bool:
    """Whether no number is NaN or infinite: a sum is finite only if all that it adds are."""
    return all(bool(t.detach().sum(dtype=torch.float64).isfinite()) for t in tensors)


def check_scores(scores: Tensor, what: str) -> Tensor:
    """The scores that classes are chosen by, unless one of them is NaN."""
    if bool(scores.detach().sum().isnan()) and bool(scores.isnan().any()):
        raise NotFinite(f"{what} are no numbers (NaN)")
    return scores


def not_finite(t: int, part: str, cause: str, scaling: str, largest: float) -> NotFinite:
    """The sentence for the user. largest: the largest |value| that the part was given, scaled."""
    where = f"At step {t}, in the {part}" if t else "In the first fit on gold (pretraining)"
    owner = part if part in ("labeler", "replay") else "method"
    rate = "learner.pretrain.lr" if not t else f"the learning rate of the {owner} (its lr settings)"
    tries = [f"lower {rate}"]
    if scaling == "none":
        tries.insert(0, "set stream.scaler=frozen, so that features are standardised")
    if largest > 1e3:
        tries.append(f"look for huge values (up to {largest:.0e} in the units of the model)")
    return NotFinite(f"{where}, {cause}. Try this: {'; '.join(tries)}.")
