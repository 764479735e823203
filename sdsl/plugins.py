"""Our Hydra plugins, under the module name that Hydra demands of every plugin: hydra_plugins.*"""

import sys

from hydra.core.plugins import Plugins

from sdsl.launcher import LocalLauncher
from sdsl.sweeper import SeedSweeper

NAME = "hydra_plugins.sdsl"  # what `_target_` says in conf/hydra/
for plugin in (LocalLauncher, SeedSweeper):
    plugin.__module__ = NAME
sys.modules[NAME] = sys.modules[__name__]


def register() -> None:
    for plugin in (LocalLauncher, SeedSweeper):
        Plugins.instance().register(plugin)
