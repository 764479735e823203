"""The only Hydra entry: python -m sdsl.run [key=value ...]; -m or +sweeps=NAME for a sweep."""

import os
import signal
import sys
from pathlib import Path

import hydra
from omegaconf import OmegaConf

from sdsl import interrupt
from sdsl.config import help as choices
from sdsl.config import refusals
from sdsl.config import seeds as overrides
from sdsl.launch import job, plugins


def home() -> Path:
    """The folder that holds conf/ and sweeps/: inside an installed package, else the repository."""
    package = Path(__file__).resolve().parent
    return package if (package / "conf").is_dir() else package.parent


def main() -> None:
    os.environ["SDSL_HOME"] = str(home())
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, and the refusal is worded here
    OmegaConf.register_new_resolver("sdsl_help", choices.help_text, replace=True)
    plugins.register()
    interrupt.install()
    start = hydra.main(config_path=str(home() / "conf"), config_name="config", version_base="1.3")
    try:
        sys.argv[1:] = overrides.rewrite(sys.argv[1:])
        start(job.task)()
    except Exception as error:
        if not refusals.refused(error):
            raise
        print(refusals.message(error), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        sys.exit(128 + (stop.args[0] if stop.args else signal.SIGINT))


if __name__ == "__main__":
    main()
