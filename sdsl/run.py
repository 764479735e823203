"""python -m sdsl.run [key=value ...]: one run; with -m or +sweeps=NAME a sweep."""

import os
import sys
import tempfile
import traceback
from types import TracebackType

import hydra
from omegaconf import OmegaConf

from sdsl import __version__, interrupt
from sdsl.config import foreign, refusals, seeds, trust
from sdsl.config import help as help_page
from sdsl.config.home import home
from sdsl.launch import job, plugins
from sdsl.output import guarded
from sdsl.tracking.address import masked


@guarded()
def main() -> None:
    if "--version" in sys.argv[1:]:
        print(f"sdsl {__version__}")
        return
    os.environ["SDSL_HOME"] = str(home())
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, and the refusal is worded here
    OmegaConf.register_new_resolver("sdsl_help", help_page.help_text, replace=True)
    plugins.register()
    trust.install()
    interrupt.install()
    sys.excepthook = _print_masked
    start = hydra.main(config_path=str(home() / "conf"), config_name="config", version_base="1.3")
    try:
        refusals.check_flags(sys.argv[1:])
        sys.argv[1:] = seeds.rewrite(sys.argv[1:])
        try:
            with tempfile.TemporaryDirectory(prefix="sdsl-hydra-") as os.environ["SDSL_HYDRA"]:
                start(job.task)()
        except job.PastHydra as carrier:
            raise carrier.error from None
    except Exception as error:
        if not refusals.refused(error):
            bug = foreign.message(error)
            if bug is None:
                raise
            print(masked(bug), file=sys.stderr)
            sys.exit(1)
        print(masked(refusals.message(error)), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        interrupt.leave(stop)


def _print_masked(
    kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> None:
    """A traceback as Python prints it, without passwords in addresses."""
    print(masked("".join(traceback.format_exception(kind, error, where))), end="", file=sys.stderr)


if __name__ == "__main__":
    main()
