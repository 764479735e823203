"""python -m sdsl.label gold=FILE files=FILES label=COLUMN out=FOLDER: labels for new files.

Each file is a segment. Its labelled copy is written to `out`, and the state; the same command again
does only what is new. All settings are in conf/command/label.yaml.
"""

import os
import sys
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from sdsl import interrupt
from sdsl.config import refusals, seeds
from sdsl.config.compose import home
from sdsl.use.config import TEXTS, label_settings


def main() -> None:
    os.environ |= {"SDSL_HOME": str(home()), "HYDRA_FULL_ERROR": "1"}  # Hydra raises its refusals
    interrupt.install()
    found: list[DictConfig] = []
    compose = hydra.main(config_path=str(home() / "conf"), config_name="config", version_base="1.3")
    try:
        words = [_quoted(word) for word in seeds.rewrite(sys.argv[1:])]
        sys.argv[1:] = ["+command=label", *words]
        compose(lambda config: found.append(config))()  # nothing for --help
        for config in found:
            run(OmegaConf.to_container(config, resolve=True))  # type: ignore[arg-type]
    except refusals.REFUSED as error:
        print(refusals.message(error), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        interrupt.leave(stop)


def run(config: dict[str, Any]) -> None:
    """Label all that is new; with watch=true, all that comes, until stopped."""
    from sdsl.use.deployment import opened  # torch and pandas take seconds
    from sdsl.use.screen import Screen

    given, seed = label_settings(config)
    with opened(given, config, seed) as deployment:
        screen = Screen(deployment)
        try:
            for i, found in enumerate(deployment.looks(given)):
                if screen.label(found, given.segment_size) or not i:
                    screen.log(config["tracking"]["uri"], config["tracking"]["experiment"])
        except KeyboardInterrupt:
            if not given.watch:  # a watch is meant to be stopped
                raise
        if not screen.lines:
            print(f"Nothing new: {len(deployment.book.done)} files are labelled in {given.out}.")


def _quoted(word: str) -> str:
    """Names of files and columns may hold letters and signs that Hydra wants in quotes."""
    key, _, text = word.partition("=")
    return f'{key}="{text}"' if key in TEXTS and text[:1] not in ("", "[", "'", '"') else word


if __name__ == "__main__":
    main()
