"""All cores of this machine (first version: joblib's)."""

from hydra_plugins.hydra_joblib_launcher.joblib_launcher import JoblibLauncher


class LocalLauncher(JoblibLauncher):
    # Hydra accepts plugins only under this name, wherever their file is.
    __module__ = "hydra_plugins.sdsl"
