"""Registration: a shift, a turn and a growth found by hand-made rows, and when nothing is moved."""

import math
from dataclasses import replace

import pytest
import torch

from sdsl.algorithms import registration
from sdsl.algorithms.mixture import Mixture
from sdsl.algorithms.registration import growth, own, registered, smear, turns, whitened, widest


def square(radius=4.0, sd=0.5, angle=0.0):
    """Four classes on a circle, one member."""
    a = angle + torch.arange(4).double() * math.pi / 2
    mean = radius * torch.stack([a.cos(), a.sin()], 1)[None]
    cov = sd**2 * torch.eye(2).double()
    weight = torch.full((1, 4), 0.25).double()
    return Mixture(mean, cov.expand(1, 4, 2, 2), weight, cov[None], torch.arange(4)[None])


def rows_of(mix, n=400, seed=0):
    g = torch.Generator().manual_seed(seed)
    L = torch.linalg.cholesky(mix.cov[0])
    k = torch.arange(n) % mix.mean.shape[1]
    noise = torch.randn(n, 2, generator=g, dtype=torch.float64)
    return mix.mean[0, k] + (L[k] @ noise[..., None]).squeeze(2)


def far(a, b):
    return float((a.mean - b.mean).norm(dim=2).max())


def moved(mix, X, still=0, turn=None):
    return registered(mix, torch.zeros_like(mix.mean), X, still, turn)


def test_a_shift_is_found_and_becomes_velocity():
    mix = square()
    there = replace(mix, mean=mix.mean + torch.tensor([5.0, -3.0]).double())
    new, velocity = moved(mix, rows_of(there), turn=0.0)
    assert far(new, there) < 0.2
    assert torch.allclose(velocity[0, 0], torch.tensor([5.0, -3.0]).double(), atol=0.2)
    _, later = moved(mix, rows_of(there), still=1)
    assert torch.allclose(later, registration.SHIFT * velocity, atol=0.05)


def test_a_growth_is_found():
    mix, there = square(4), square(6)
    white, W, _ = whitened(mix)
    assert float(growth(mix, white, rows_of(there), W)) == pytest.approx(1.5, abs=0.03)
    assert far(moved(mix, rows_of(there))[0], there) < 0.3


def test_a_turn_is_found_where_a_member_knows_turns():
    mix, there = square(), square(angle=math.radians(30))
    X = rows_of(there)
    assert far(moved(mix, X)[0], there) < 0.3
    assert far(moved(mix, X, still=1)[0], there) > 1.5
    assert far(moved(mix, X, still=1, turn=0.0)[0], there) < 0.3  # without a past all members do


def test_turns_that_look_alike_are_told_apart_by_what_is_expected():
    mix, there = square(), square(angle=math.radians(60))
    X = rows_of(there)
    assert far(moved(mix, X, turn=math.radians(60))[0], there) < 0.4
    other = square(angle=math.radians(-30))
    assert far(moved(mix, X, turn=math.radians(30))[0], other) < 0.4


def test_a_good_prediction_stays():
    mix = square()
    new, velocity = moved(mix, rows_of(mix))
    assert torch.equal(new.mean, mix.mean)
    assert torch.equal(velocity, torch.zeros_like(velocity))


def test_few_rows_find_the_turns_that_all_rows_value():
    mix, X = square(), rows_of(square(angle=math.radians(40)))
    angles = registration.around(36)
    R, flat = turns(widest(mix), angles), torch.zeros(35, 1).double()
    moves = registration.Moves(R, flat + 1, flat)
    best, value = registration.likeliest(moves, mix, X, X.mean(0), 0)
    every = moves.value(mix, X, X.mean(0))
    assert value.shape == (registration.BEST, 1)
    assert float(value.max()) == pytest.approx(float(every.max()))
    angle = torch.atan2(best.R[..., 1, 0], best.R[..., 0, 0])[value.argmax(), 0]
    assert math.degrees(angle) % 90 == pytest.approx(40, abs=1)
    _, value = registration.likeliest(moves, mix, X, X.mean(0), 1)
    assert value.isneginf().all()


def test_smear_shows_the_turn_within_a_segment():
    g, a = torch.Generator().manual_seed(0), math.radians(50)
    mix = square(radius=5)
    at = a * (torch.rand(4, 4000, generator=g).double() - 0.5)
    at = at + torch.arange(4).double()[:, None] * math.pi / 2
    X = 5 * torch.stack([at.cos(), at.sin()], 2)
    X = X + 0.5 * torch.randn(X.shape, generator=g, dtype=torch.float64)
    mean = X.mean(1)
    gap = X - mean[:, None]
    cov = gap.mT @ gap / 4000
    mix = replace(mix, mean=mean[None], cov=cov[None], pooled=cov.mean(0, keepdim=True))
    assert smear(whitened(mix)[0], 16_000) == pytest.approx(a, rel=0.1)
    assert smear(whitened(square())[0], 16_000) < 0.01


def test_components_near_the_centre_and_chance_show_no_turn():
    long = torch.diag(torch.tensor([1.0, 3.0])).double()
    mix = replace(square(radius=1.0, sd=1.0), cov=long.expand(1, 4, 2, 2), pooled=long[None])
    assert smear(whitened(mix)[0], 16_000) == 0  # long classes that lie over each other
    mix = square(radius=4.0, sd=1.0)
    out = mix.mean / mix.mean.norm(dim=2, keepdim=True)
    along = torch.stack([-out[..., 1], out[..., 0]], 2)
    mix = replace(mix, cov=mix.cov + 0.2 * along[..., None] * along[..., None, :])
    assert smear(mix, 16_000) > 0.3
    assert smear(mix, 50) == 0


def test_turns_are_rotations_in_the_widest_plane():
    plane = widest(square())
    R = turns(plane, torch.tensor([0.3, math.pi], dtype=torch.float64))
    assert torch.allclose(R @ R.mT, torch.eye(2).double().expand_as(R))
    assert torch.allclose(R[1, 0], -torch.eye(2).double())


def test_what_a_mixture_expects_of_its_rows():
    mix = square()
    found = registration.likely(mix, rows_of(mix, 20_000))
    assert float(own(mix)) == pytest.approx(float(found), abs=0.02)


@pytest.mark.parametrize("form", ["tied", "diagonal"])
def test_other_forms_only_shift(form):
    mix = square()
    if form == "tied":
        mix = replace(mix, cov=mix.cov[:, :1])
    else:
        mix = replace(
            mix, cov=mix.cov.diagonal(dim1=2, dim2=3), pooled=mix.pooled.diagonal(0, 1, 2)
        )
    there = square(angle=math.radians(30))
    X = rows_of(there) + 5
    new, _ = moved(mix, X, turn=0.0)
    assert torch.allclose(new.mean - mix.mean, torch.full_like(mix.mean, 5), atol=0.2)
    assert torch.equal(new.cov, mix.cov)
