"""The command `sdsl`: `sdsl run ...` is `python -m sdsl.run ...`, and so on. Shell completion."""

import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from sdsl import __version__
from sdsl.output import guarded

COMMANDS = {  # name -> what it does; `sdsl name` is `python -m sdsl.name`
    "run": "one run, or a sweep",
    "label": "labels for new files, as they come",
    "report": "tables, figures, verdicts and a page from finished runs",
    "datasets": "the eight streams: where they come from and what they look like",
    "bench": "measure speed and memory",
    "search": "how the settings that the paper leaves open were chosen",
    "verify": "rerun a logged run and compare it bit for bit",
    "completion": "print a script for shell completion: completion bash",
}
PACKAGES = ("report", "datasets", "bench", "search")  # their main() is in __main__
COMPLETE = "__complete"  # what the script below calls; not for people
# Bash breaks a word at the characters in COMP_WORDBREAKS, = and : among them, and replaces only
# what stands behind the last of them; so that much is cut off every suggestion.
BASH = """# Put this into ~/.bashrc:  eval "$(sdsl completion bash)"
_sdsl_complete() {
    local line="${COMP_LINE:0:$COMP_POINT}" IFS=$'\\n' mark cut=""
    local word="${line##* }"
    COMPREPLY=($(COMP_LINE="$line" "$1" __complete 2>/dev/null))
    for mark in = : @; do
        if [[ "$COMP_WORDBREAKS" == *"$mark"* && "$word" == *"$mark"* ]]; then
            local upto="${word%"$mark"*}$mark"
            (( ${#upto} > ${#cut} )) && cut="$upto"
        fi
    done
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}
complete -o nospace -o default -F _sdsl_complete sdsl
"""


@guarded()
def main(words: Sequence[str] | None = None) -> int:
    name, *rest = list(sys.argv[1:] if words is None else words) or ["--help"]
    if name in ("-h", "--help"):
        print(help_text())
    elif name == "--version":
        print(f"sdsl {__version__}")
    elif name == "completion":
        return _print_script(rest)
    elif name == COMPLETE:
        print("\n".join(suggestions(os.environ.get("COMP_LINE", ""))))
    elif name in COMMANDS:
        sys.argv = [f"sdsl {name}", *rest]
        module = f"sdsl.{name}.__main__" if name in PACKAGES else f"sdsl.{name}"
        return importlib.import_module(module).main() or 0
    else:
        print(f"sdsl has no command '{name}'. Commands: {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    return 0


def help_text() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{text}" for name, text in COMMANDS.items()]
    head = "sdsl: semi-supervised drifted stream learning with short lookback.\n\nsdsl COMMAND ..."
    return "\n".join([head, *lines, "", "sdsl COMMAND --help says more; sdsl --version."])


def _print_script(words: Sequence[str]) -> int:
    if list(words) != ["bash"]:
        print("Write: sdsl completion bash (zsh reads it after `bashcompinit`).", file=sys.stderr)
        return 2
    print(BASH, end="")
    return 0


def suggestions(line: str) -> list[str]:
    """What may stand in the place of the last word; a space at the end closes the word."""
    before, _, word = line.rpartition(" ")
    typed = before.split()
    if len(typed) <= 1:
        return [f"{name} " for name in COMMANDS if name.startswith(word)]
    if typed[1:] == ["completion"]:
        return ["bash "]
    return _of_run(typed[2:], word) if typed[1] == "run" else []


def _of_run(typed: Sequence[str], word: str) -> list[str]:
    """Hydra's own suggestions: config groups, their options, keys."""
    from sdsl import run
    from sdsl.config import seeds

    # Sweeps and quotes say nothing about the choices that are left, and Hydra cannot read them.
    plain = [part for part in typed if re.fullmatch(r"[\w./+~@-]+=[\w./-]*", part)]
    os.environ["COMP_LINE"] = " ".join(["sdsl", *seeds.rewrite(plain), word])
    sys.argv = ["sdsl run", "--shell-completion", "query=bash"]
    with redirect_stdout(io.StringIO()) as answer, redirect_stderr(io.StringIO()):
        run.main()
    words = answer.getvalue().split()
    return [part if part.endswith(("=", ".", "/")) else f"{part} " for part in words]


if __name__ == "__main__":
    sys.exit(main())
