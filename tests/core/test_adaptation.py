"""Between two steps: state that goes on bit for bit, a scale that moves, NaN that ends a run."""

import made_up
import numpy as np
import pytest
import support
import torch
from made_up import DATA, Act, T, adaptation
from support import taken

from sdsl.core.adaptation import Adaptation
from sdsl.core.finite import NotFinite, all_finite, check_scores
from sdsl.errors import ComponentError


@pytest.mark.parametrize("scaler", ["frozen", "per_step", "none"])
def test_a_restored_state_goes_on_with_the_same_bits(scaler):
    of = made_up.stream(scaler=scaler)
    going, method = adaptation(of), made_up.method()
    other = Adaptation(method, made_up.learner(of), of.gold(), "", of.seed)
    taken(going, of, range(1, 4))
    state = going.state()
    whole = taken(going, of, range(4, T + 1))
    for _ in range(2):  # the state is a copy: later steps do not change it
        other.restore(state)
        assert taken(other, of, range(4, T + 1)) == whole
    assert method.replay.moves == T


def test_features_that_go_silent_leave_no_scale_of_rounding_errors():
    """0 or 1, and all 0 in the last segments and in what is kept of the one before them."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=240)
    X = rng.normal(size=(240, 20)) + 3 * y[:, None]
    X[:, 2:] = (rng.random((240, 18)) < 0.3) & (np.arange(240) < 150)[:, None]
    of = made_up.stream(support.table(X, y), scaler="per_step")
    assert torch.all(made_up.run(of=of).scaler.scale[:, 2:] == 1)


@pytest.mark.parametrize(("how", "cause"), [
    ("parameters", "At step 2, in the replay, the network's parameters are no longer finite"),
    ("library", "the network's parameters are .* lower the learning rate of the replay"),
    ("scores", r"At step 2, in the replay, the distances are no numbers \(NaN\)"),
    ("bug", r"Act raised ValueError in .*made_up.py, line \d+\): array must not"),
])  # fmt: skip
def test_a_run_that_diverges_ends_with_the_step_the_part_and_what_to_try(how, cause):
    def act(step, learner):
        if step.t == 2 and how == "scores":
            check_scores(torch.tensor([1.0, torch.nan]), "the distances")
        if step.t == 2 and how in ("parameters", "library"):
            learner.theta[0][0, 0] = torch.inf
        if step.t == 2 and how in ("library", "bug"):
            raise ValueError("array must not contain infs")
        return {}

    expected = ComponentError if how == "bug" else NotFinite
    with pytest.raises(expected, match=cause):
        made_up.run(replay=Act(act))


def test_a_first_fit_that_diverges_names_its_settings():
    of = made_up.stream(support.table(1e12 * DATA.X, DATA.y), scaler="none")
    says = r"first fit on gold \(pretraining\).*stream\.scaler=frozen.*lower learner\.pretrain\.lr"
    with pytest.raises(NotFinite, match=rf"{says}.*huge values \(up to \de\+12"):
        adaptation(of, lr=1e6)


def test_finite():
    for sound in ([1.0, -torch.inf], [torch.inf, -torch.inf], []):
        assert check_scores(torch.tensor(sound), "x").tolist() == sound
    assert all_finite([torch.ones(2), torch.full((9,), 3e38)])
    assert not all_finite([torch.ones(2), torch.tensor([torch.inf])])
