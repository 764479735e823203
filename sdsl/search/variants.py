"""What is tried: one change of a method's settings at a time."""

from dataclasses import dataclass

from sdsl.search import baselines, streams

SHIPPED = "as shipped"


@dataclass(frozen=True)
class Family:
    """A method, the seeds and streams it is tried on, and the changes: name -> overrides."""

    method: str
    seeds: tuple[int, ...]
    streams: dict[str, str]
    variants: dict[str, str]
    held_out: dict[str, str]


def trusted(overlap: float, agreement: float) -> str:
    return " ".join(
        f"{part}.trust={{overlap:{overlap},agreement:{agreement}}}"
        for part in ("labeler", "replay")
    )


OURS = {
    SHIPPED: "",
    "fit 200 steps": "labeler.fit.steps=200",
    "lookback stratified": "lookback.select=stratified",
    "no flat region": "replay.no_xi=true replay.no_proj=true",
    "replay 200 steps": "replay.steps=200",
    "M a fifth of the width at most": "replay.cap=0.2",
    "gold fully trusted": trusted(0, 0),
    "trust by overlap alone": trusted(6, 0),
    "trust by agreement alone": trusted(0, 3),
    "trust to the power 1": trusted(2, 1),
    "trust to the power 2": trusted(4, 2),
    "gold at 0.3 in replay": "replay.trust={overlap:0,agreement:0} replay.gold=0.3",
    "step 1 from step t-1's encoder": "labeler.origin=previous",
    "10 rounds": "labeler.rounds=10",
    "ILS off": "labeler.ils=off",
    "ILS gram": "labeler.ils=gram",
    "cosines around the origin": "labeler.center=origin",
    "cosines around the segment's mean": "labeler.center=segment",
    "no consistency": "labeler.fit.consistency=0",
    "replay from generation": "replay.origin=generation",
    "no momentum in replay": "replay.momentum=0",
    "M with 90% energy": "replay.energy=0.9",
    "feedback 20 steps a round": "labeler.feedback.steps=20",
    "xi of SAM's length": "replay.xi_norm=sam",
    "ILS rank by 95% energy": "labeler.energy=0.95",
    "frozen scale": "stream.scaler=frozen",
}
TRACKER = {
    SHIPPED: "",
    "one component per class": "labeler.components=[1]",
    "two components per class": "labeler.components=[2]",
    "four components at most": "labeler.more=[]",
    "eight components always": "labeler.components=[1,2,4,8] labeler.more=[]",
    "six components where needed": "labeler.more=[6]",
    "all where needed": "labeler.components=[1] labeler.more=[2,4,8]",
    "no flow": "labeler.flow=false",
    "5 rounds of EM": "labeler.rounds=5",
    "shares remembered for 2 segments alone": "labeler.share=[2]",
    "shares remembered for half a segment alone": "labeler.share=[0.5]",
    "shares remembered for 10 segments": "labeler.share=[10]",
    "no memory of covariances": "labeler.memory=0",
    "predicted mean stands for 20 rows": "labeler.mean=20",
    "no registration": "labeler.register=false",
    "no likelihood test": "labeler.likelihood=false",
    "the best score decides alone": "labeler.stay=0",
    "no memory of the past": "replay.present=1",
    "hold is never left": "labeler.alarm=0",
    "hold is never taken up again": "labeler.back=1",
    "no hold": "labeler.alarm=1 labeler.back=1",
}
OURS_TRACKER = {
    SHIPPED: "",
    "the paper's replay alone": "replay=flat_region lookback.size=100",
    "letting go, no memory": "replay.memory=0 lookback.size=100",
    "memory, not letting go": "replay.held={overlap:0,agreement:0}",
    "memory at 0.3": "replay.memory=0.3",
}
BASELINES = {
    "cotta": baselines.COTTA,
    "sar": baselines.SAR,
    "gst": baselines.GST,
    "dann": baselines.DANN,
}


def started(name: str, variants: dict[str, str]) -> dict[str, str]:
    """A baseline's variants, each around the values that its search started from."""
    first = baselines.STARTED.get(name, "")
    return {
        variant: f"{first} {words}".strip() for variant, words in {SHIPPED: "", **variants}.items()
    }


FAMILIES = {
    "ours": Family("ours", (10, 11), streams.OURS, OURS, {}),
    "tracker": Family("tracker", (10, 11), streams.TRACKER, TRACKER, streams.HELD_OUT),
    "ours_tracker": Family("ours_tracker", (10, 11), streams.TRACKER, OURS_TRACKER, {}),
} | {
    name: Family(name, (10, 11), streams.OURS, started(name, variants), {})
    for name, variants in BASELINES.items()
}
