"""Hydra's basic sweeper, with seeds as integers in sweep files and fuse=false as a job a seed."""

from collections.abc import Sequence

from hydra.core.plugins import Plugins

from sdsl.config import seeds as overrides
from sdsl.launch.local import LocalLauncher

Plugins.instance()  # its scan executes basic_sweeper anew: the class to inherit from comes after
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper  # noqa: E402


class SeedSweeper(BasicSweeper):
    """Known to Hydra as hydra_plugins.sdsl.SeedSweeper."""

    def _parse_config(self) -> list[str]:
        return self._seeds(overrides.rewrite(super()._parse_config()))

    def sweep(self, arguments: list[str]):
        return super().sweep(self._seeds(arguments))

    def _seeds(self, line: list[str]) -> list[str]:
        return line if self.config.fuse else overrides.split(line)

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        # Our launcher composes every job before the first one starts; once is enough.
        if not isinstance(self.launcher, LocalLauncher):
            super().validate_batch_is_legal(batch)
