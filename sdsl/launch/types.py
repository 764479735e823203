"""What launchers, jobs and the screen hand to each other, and the settings of each launcher."""

from dataclasses import dataclass

from omegaconf import DictConfig

from sdsl.config.naming import Names
from sdsl.core.fields import number
from sdsl.launch.steps import Steps
from sdsl.tracking.provenance import JobTags
from sdsl.tracking.records import Entry


@dataclass(frozen=True)
class Place:
    """Where a job's runs are recorded."""

    uri: str  # complete, as address.store_uri gives it
    experiment: str


@dataclass(frozen=True)
class Job:
    """One point of a sweep, composed and checked."""

    index: int
    tags: JobTags
    overrides: str  # as typed, without passwords
    config: DictConfig  # with its hydra node
    place: Place
    seeds: int  # how many
    cost: float  # a guess at its length, in no unit
    segments: int | None  # how many, where the stream's length is known
    steps: Steps  # where it says how far it is


@dataclass(frozen=True)
class JobReport:
    """What a finished job tells the table at the end of a sweep."""

    names: Names
    group: str  # its group_key
    parent: str  # the run that holds its means
    entries: list[Entry]  # one per seed
    computed: int  # how many of them ran now; the rest were in the ledger
    data: str  # source, standing and SHA-256 of the rows, in words
    standing: str
    reads_labels: bool  # a bound or a control: no method to use
    uri: str
    experiment: str  # its id
    notes: list[str]  # what a person should know besides


@dataclass(frozen=True)
class JobResult:
    """How a job ended: with a report, with the cause of its failure, or put off for a while."""

    report: JobReport | None = None
    failure: str = ""
    held: str = ""  # who makes what the job lacks


@dataclass
class LocalSettings:
    n_jobs: int  # processes at once; -1: one per core


@dataclass
class RaySettings:
    address: str | None
    cpus: float = number(low=0)  # per job
    retries: int = number(low=0)  # of a job whose node or process dies


@dataclass
class SubmititSettings:
    cluster: str
    folder: str
    n_jobs: int | None  # at once; None: all
    poll: float = number(low=0)  # seconds between two looks at the jobs
