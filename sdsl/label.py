"""python -m sdsl.label gold=FILE files=FILES label=COLUMN out=FOLDER: labels for new files.

Each file is a segment. The labelled copy is written to `out`, then the state; the same command
again does only what is new. All settings are in conf/label.yaml.
"""

import logging
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdsl import interrupt
from sdsl.config.home import home
from sdsl.errors import UserError
from sdsl.output import guarded
from sdsl.use.settings import LabelSettings, read

if TYPE_CHECKING:  # torch and pandas take seconds, and --help should not
    from sdsl.use.deployment import Deployment
    from sdsl.use.screen import Screen


@guarded()
def main(words: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if words is None else words)
    if not words or words[0] in ("-h", "--help"):
        print(f"{__doc__}\n{(home() / 'conf' / 'label.yaml').read_text(encoding='utf-8')}", end="")
        return
    if "--config-dir" in words[:-1]:  # as in python -m sdsl.run
        at = words.index("--config-dir")
        words[at : at + 2] = [f"config_dir={words[at + 1]}"]
    interrupt.install()
    try:
        label(*read(words))
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        interrupt.leave(stop)


def label(settings: LabelSettings, overrides: Mapping[str, Any]) -> None:
    """Label all that is new; with watch=true, all that comes, until stopped."""
    from sdsl.estimator import DEFAULT_METHOD
    from sdsl.use.curves import Curves
    from sdsl.use.opening import opened
    from sdsl.use.screen import Screen

    logging.getLogger("sdsl.use").addHandler(logging.NullHandler())  # the screen says it all
    with opened(settings, overrides, settings.method or DEFAULT_METHOD) as deployment:
        screen = Screen(deployment)
        curves = Curves(deployment, settings.tracking, screen.line)
        first = True  # logged even if nothing is new: an earlier call may have missed the store
        try:
            while True:
                if _look(settings, deployment, screen) or first:
                    curves.log()
                first = False
                if not settings.watch:
                    break
                time.sleep(settings.every)
        except KeyboardInterrupt:
            screen.table()
            if not settings.watch:  # a watch is meant to be stopped
                raise
        else:
            screen.table()
        finally:
            curves.end(len(screen.shown))


def _look(settings: LabelSettings, deployment: "Deployment", screen: "Screen") -> bool:
    """Label everything that is there now; whether there was anything new."""
    from sdsl.datasets.inputs import find

    inputs = find(settings.files, deployment.out)
    if settings.watch:  # a file that still grows waits for the next look
        now = time.time()
        inputs = [i for i in inputs if now - i.path.stat().st_mtime >= settings.every]
    elif not inputs:
        raise UserError(f"files={', '.join(settings.files)}: there is no such file.")
    before = screen.events
    screen.look(deployment.new(inputs), deployment.changed(inputs))
    for segment, record in deployment.run(inputs, settings.segment_size, screen.aside):
        screen.segment(segment, record)
    return screen.events > before


if __name__ == "__main__":
    main()
