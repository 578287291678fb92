"""No import escapes the linter that keeps the layers: it does not see modules that are named by a text."""

import re
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src" / "pitstop"
BY_TEXT = re.compile(r"""(?:import_module|__import__)\(\s*f?["']pitstop""")


def test_no_module_of_ours_is_imported_by_a_text():
    files = list(SOURCES.rglob("*.py"))
    assert len(files) > 600
    assert [str(file) for file in files if BY_TEXT.search(file.read_text())] == []
