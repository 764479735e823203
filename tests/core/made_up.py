"""Small components, and runs of them, that need no room above the core."""

from typing import Any

import support

from sdsl.core import engine
from sdsl.core.adaptation import Adaptation
from sdsl.core.contract import Labeler, Method, Pseudo, Replay
from sdsl.core.draws import Draws
from sdsl.core.engine import EvalConfig
from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, settings
from sdsl.core.stream import Cut, Stream, StreamConfig

SIZE, TEST, T = 30, 11, 6
DATA = support.blobs(rows=SIZE * (T + 1), classes=3, d=4, drift=2.0, spread=1.0)


class Predict(Labeler):
    """Labels by the network, or what `act` gives; keeps all that it is shown."""

    def __init__(self, act=None):
        self.act, self.steps = act, []

    def label(self, step, learner):
        self.steps.append(step)
        y = learner.predict(step.X)
        return self.act(step, learner) if self.act else Pseudo(y, Rows(step.X, y))

    def state(self):
        return {}


@settings
class Wander(Replay):
    """Moves the parameters at random at every so many steps, around a mean that it keeps."""

    every: Positive

    def start(self, gold, learner, draws):
        self.mean, self.moves = learner.copy(), 0

    def replay(self, step, pseudo, learner):
        if step.t % self.every == 0:
            self.moves += 1
            for p, mean in zip(learner.theta, self.mean, strict=True):
                p += 0.2 * step.draws.normal(*p.shape) + 0.5 * (mean - p)
                mean += 0.1 * (p - mean)
        return {"moves": float(self.moves)}


class Act(Replay):
    """Calls a function; without one, nothing changes."""

    def __init__(self, act=lambda step, learner: {}):
        self.act = act

    def replay(self, step, pseudo, learner):
        return self.act(step, learner)

    def state(self):
        return {}


def stream(data=DATA, seed=0, cut=None, **config) -> Stream:
    shipped = {"gold": "segment", "scaler": "frozen", "jitter": 0.0}
    shipped |= {"max_segments": None, "prefix": "literal"}
    sizes = {"segment_size": SIZE, "test_size": TEST, "gold_per_class": 5}
    made = Cut(**sizes | {"calibrated_segments": None} | (cut or {}))
    return Stream(data, made, StreamConfig(**shipped | config), seed)


def method(labeler=None, replay=None, **how) -> Method:
    parts = labeler or Predict(), replay or Wander(1), Lookback(5, "stratified", "equal")
    return Method(*parts, support.training(**how))


def learner(of: Stream) -> Learner:
    return Learner((of.d, 6, of.C), Draws(of.seed, "init"))


def run(labeler=None, replay=None, of=None, every: Any = 1, **more) -> engine.Outcome:
    of = of or stream()
    return engine.run(of, learner(of), method(labeler, replay), EvalConfig(every), **more)


def adaptation(of: Stream, **how) -> Adaptation:
    """After the fit on gold."""
    going = Adaptation(method(**how), learner(of), of.gold(), of.config.scaler, of.seed)
    going.begin(of.segment(1))
    return going
