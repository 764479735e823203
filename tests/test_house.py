"""The house: small files that say their purpose, few modules at the root, mirrored tests."""

import ast
import statistics

import support

SOURCES = [p for p in (support.ROOT / "sdsl").rglob("*.py") if "peer_env" not in p.parts]
ROOMS = [p.name for p in (support.ROOT / "sdsl").iterdir() if (p / "__init__.py").exists()]


def test_files_are_short():
    lines = {path: len(path.read_text().splitlines()) for path in SOURCES}
    assert statistics.median(lines.values()) < 100
    assert max(lines.values()) <= 300, max(lines, key=lines.get)


def test_every_file_says_its_purpose_in_its_first_line():
    for path in SOURCES:
        doc = ast.get_docstring(ast.parse(path.read_text()))
        assert doc and len(doc.splitlines()[0]) > 10, path


def test_the_root_holds_commands_and_leaves_only():
    assert len(list((support.ROOT / "sdsl").glob("*.py"))) <= 14


def test_every_room_has_its_tests():
    for room in ROOMS:
        assert list((support.ROOT / "tests" / room).rglob("test_*.py")), room


def test_no_test_edits_the_import_path():
    for path in (support.ROOT / "tests").rglob("*.py"):
        calls = [ast.unparse(n) for n in ast.walk(ast.parse(path.read_text())) if is_edit(n)]
        assert not calls, f"{path}: {calls}"


def is_edit(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith("sys.path.")
