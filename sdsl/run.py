"""python -m sdsl.run [key=value ...]: one run; with -m or +sweeps=NAME a sweep.

Exit status: 0; 1 if a run failed; 2 if the command line was refused; 130 after Ctrl-C.
"""

import os
import sys
import traceback

import hydra

import sdsl.config.sections  # noqa: F401  makes them known to Hydra
from sdsl import interrupt
from sdsl.config import seeds
from sdsl.config.compose import home
from sdsl.config.refusals import REFUSED, message
from sdsl.launch import job, local, screen
from sdsl.tracking.address import masked


def main() -> None:
    os.environ["SDSL_HOME"] = str(home())
    for library in ("OMP", "MKL", "OPENBLAS"):  # a job is one thread, whichever the launcher
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    whole = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises its errors, and they are printed here
    interrupt.install()
    local.register()
    start = hydra.main(config_path=str(home() / "conf"), config_name="config", version_base="1.3")
    try:
        sys.argv[1:] = seeds.rewrite(sys.argv[1:])
        start(job.task)()
    except KeyboardInterrupt as stop:
        interrupt.leave(stop, screen.end(whole=False))
    except Exception as error:
        screen.end(whole=False)
        refused = isinstance(error, REFUSED) and not whole
        text = message(error) if refused else traceback.format_exc()
        print(masked(text).rstrip(), file=sys.stderr)
        sys.exit(getattr(error, "status", 2) if isinstance(error, REFUSED) else 1)
    finally:
        if not whole:
            del os.environ["HYDRA_FULL_ERROR"]
    sys.exit(1 if screen.failed else 0)


if __name__ == "__main__":
    main()
