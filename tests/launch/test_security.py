"""What the code must not do: run foreign code, call a shell, write where nobody asked for it."""

import ast
import os
import subprocess
import sys

import pytest
from cli import ROOT, TINY

FILES = sorted((ROOT / "sdsl").rglob("*.py"))
FORBIDDEN = {"eval", "exec", "os.system", "os.popen", "torch.load", "joblib.load", "yaml.load"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_pickle_no_eval_no_shell(file):
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            assert not names & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN
            said = {word.arg: ast.unparse(word.value) for word in node.keywords}
            assert said.get("shell", "False") == "False"
            assert said.get("allow_pickle", "False") == "False"


def test_a_run_writes_to_outputs_the_store_and_the_cache(tmp_path):
    folders = [tmp_path / name for name in ("here", "home", "tmp")]
    for folder in folders:
        folder.mkdir()
    here, home, tmp = folders
    drop = {"MLFLOW_TRACKING_URI", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"}
    drop |= {"PYTEST_CURRENT_TEST", "CI"}  # MLflow behaves under them
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    environment |= {"HOME": str(home), "TMPDIR": str(tmp), "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "sdsl.run", *TINY]
    done = subprocess.run(line, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["mlflow.db", "outputs"]
    assert not list(tmp.iterdir())
    files = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    # Matplotlib keeps its list of fonts, wherever it is used.
    assert all(file.startswith((".cache/sdsl/", ".cache/matplotlib/")) for file in files), files
