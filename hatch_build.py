"""A hook of the build: the wheel has the bills of materials that scripts/sbom has written into sbom/ (PEP 770)."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        build_data["sbom_files"] += [path.relative_to(root).as_posix() for path in sorted(root.glob("sbom/*.cdx.json"))]
