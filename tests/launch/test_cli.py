"""The command `sdsl`: it finds the other commands, and bash completes it."""

import os
import subprocess
import sys

import pytest
from cli import ROOT, TINY, TINY_NAME, start, status

from sdsl import __version__, cli

SHELL = """
sdsl() {{ "{python}" -m sdsl.cli "$@"; }}
eval "$(sdsl completion bash)"
COMP_LINE="{line}" COMP_POINT={point}
read -ra COMP_WORDS <<< "$COMP_LINE"
_sdsl_complete sdsl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(line: str, setting: str = "") -> list[str]:
    """What bash would offer at the end of the line."""
    script = setting + SHELL.format(python=sys.executable, line=line, point=len(line))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [word for word in done.stdout.split("\n") if word]


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys\n"
        "from sdsl.cli import main\n"
        "assert main(['--help']) == main(['--version']) == main([]) == 0\n"
        "print('HEAVY', [m for m in ('torch', 'mlflow', 'hydra', 'numpy') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "HEAVY []" in said and f"sdsl {__version__}" in said
    assert all(f"  {name} " in said for name in cli.COMMANDS)


@pytest.mark.parametrize("name", [name for name in cli.COMMANDS if name != "completion"])
def test_every_command_is_found(name):
    command = start(name, "--help", module="sdsl.cli")
    out, err = command.communicate()
    assert command.returncode == 0, err
    assert f"sdsl.{name}" in out


def test_a_run(here):
    command = start("run", *TINY, module="sdsl.cli")
    assert command.communicate()[0].count("twonorm") == 1 and command.returncode == 0
    assert status() == {f"{TINY_NAME} · seed 0": "FINISHED"}


def test_exit_status_and_refusals(capsys):
    assert cli.main(["verify", "nonsense"]) == 2
    assert "is not a run id" in capsys.readouterr().err
    assert cli.main(["rum"]) == 2
    assert "sdsl has no command 'rum'. Commands: run," in capsys.readouterr().err
    assert cli.main(["completion", "fish"]) == 2
    command = start("run", "method=stt", module="sdsl.cli")
    assert "Did you mean 'st'?" in command.communicate()[1] and command.returncode == 2


def test_the_version_of_run_is_ours():
    assert start("--version").communicate()[0] == f"sdsl {__version__}\n"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sdsl re", ["report "]),
        ("sdsl completion ", ["bash "]),
        ("sdsl run metho", ["method.", "method="]),
        ("sdsl run method=ours_w", ["ours_wo_fr ", "ours_wo_ils "]),
        ("sdsl run seed=3 -m learner.pret", ["learner.pretrain."]),
        ("sdsl run +sweeps=sm", ["smoke "]),
        ("sdsl run hydra/launcher=submitit_l", ["submitit_local "]),
        ("sdsl run 'dataset=glob(*)' learner.pretrain.mom", ["learner.pretrain.momentum="]),
        ("sdsl report ", []),
    ],
)
def test_bash_completes(line, offered):
    assert completed(line) == offered


def test_bash_completes_where_words_do_not_break():
    setting = "COMP_WORDBREAKS=' '\n"
    assert completed("sdsl run method=ours_wo_f", setting) == ["method=ours_wo_fr "]
