"""Hydra's basic sweeper, with integer seeds in sweep files; fuse=false makes one job per seed."""

from collections.abc import Sequence
from typing import Any

from hydra.core.plugins import Plugins

from sdsl.config import seeds
from sdsl.launch.launcher import SweepLauncher

Plugins.instance()  # its scan executes basic_sweeper anew: the class to inherit from comes after
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper  # noqa: E402


class SeedSweeper(BasicSweeper):
    """Known to Hydra as hydra_plugins.sdsl.SeedSweeper."""

    def _parse_config(self) -> list[str]:
        return self._per_seed(seeds.rewrite(super()._parse_config()))

    def sweep(self, arguments: list[str]) -> Any:
        return super().sweep(self._per_seed(arguments))

    def _per_seed(self, line: list[str]) -> list[str]:
        return line if self.config is None or self.config.fuse else seeds.split(line)

    def validate_batch_is_legal(self, batch: Sequence[Sequence[str]]) -> None:
        # Our launchers compose every job before the first one starts; once is enough.
        if not isinstance(self.launcher, SweepLauncher):
            super().validate_batch_is_legal(batch)
