"""Start-up stays quick: what is imported inside functions is listed, and nothing else is."""

import ast
from pathlib import Path

import sdsl
from sdsl.launch import LAZY_IMPORTS

ROOT = Path(sdsl.__file__).parent


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)


def lazy_imports(file: Path) -> set[str]:
    """The modules of sdsl that a file imports inside functions."""
    found: set[str] = set()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(function, functions):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sdsl"):
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                    found |= {name if is_module(name) else str(node.module) for name in names}
    return found


def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_lazy_imports_are_listed():
    files = [*(ROOT / "launch").glob("*.py"), *(ROOT / "tracking").glob("*.py"), ROOT / "run.py"]
    found = {module_of(file): lazy_imports(file) for file in files}
    listed = {module: set(names) for module, names in LAZY_IMPORTS.items()}
    assert {module: names for module, names in found.items() if names} == listed
