"""What the ledger keeps about runs, as plain records: a finished run, and what its group shares."""

from dataclasses import asdict, dataclass

from sdsl.config.naming import Names


@dataclass(frozen=True)
class Entry:
    """A finished run, as far as a table needs it."""

    seed: int
    run_id: str
    metrics: dict[str, float]


@dataclass(frozen=True)
class Group:
    """What all seeds of one config on one stream share; each field is a tag of their runs."""

    method: str
    dataset: str
    variant: str  # these three: what sdsl.config.naming calls the config
    stream: str
    setting: str
    labeler: str
    replay: str
    data_sha256: str
    data_source: str
    data_standing: str
    data_rows: int
    data_features: int
    data_classes: int
    stream_sha256: str
    code_sha256: str
    group_key: str
    result_key: str = ""  # the same for groups that come to the same numbers; '': not known

    @property
    def names(self) -> Names:
        return Names(self.variant, self.stream, self.setting)

    @property
    def name(self) -> str:
        return str(self.names)

    def tags(self) -> dict[str, str]:
        return {name: str(value) for name, value in asdict(self).items()}
