"""The code of docs/extending.md, and the package that it describes as a real wheel."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "extending.md").read_text()
BLOCKS = [code for _, code in re.findall(r"```(python|toml)\n(.*?)```", TEXT, re.S)]


def files():
    """File -> the code that is shown of it, for blocks that begin with a file's name."""
    named = [(code.partition("\n")[0], code.partition("\n")[2]) for code in BLOCKS if re.match(r"# \S+\n", code)]
    return [(head.removeprefix("# "), code) for head, code in named]


def block_with(text):
    """The one block that has this text."""
    (found,) = [code for code in BLOCKS if text in code]
    return found


def build_wheel(folder: Path) -> Path:
    """The package ``tally`` as the page shows it."""
    for name, code in files():
        if name == "pyproject.toml" or name.startswith("tally/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(code)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=folder, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel
