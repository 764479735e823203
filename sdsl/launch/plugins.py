"""Our Hydra plugins, under the module name that Hydra demands of every plugin: hydra_plugins.*"""

import sys

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

from sdsl.launch.local import LocalLauncher
from sdsl.launch.ray_launcher import RayLauncher
from sdsl.launch.submitit_launcher import SubmititLauncher
from sdsl.launch.sweeper import SeedSweeper

NAME = "hydra_plugins.sdsl"  # what `_target_` says in conf/hydra/
PLUGINS = (LocalLauncher, RayLauncher, SubmititLauncher, SeedSweeper)


def register() -> None:
    """Make the plugins known to Hydra."""
    sys.modules[NAME] = sys.modules[__name__]
    for plugin in PLUGINS:
        plugin.__module__ = NAME
        Plugins.instance().register(plugin)
    # conf/hydra/launcher/joblib.yaml stands in the place of the joblib plugin's, if there is one.
    ConfigStore.instance().repo["hydra"]["launcher"].pop("joblib.yaml", None)
