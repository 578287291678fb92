"""An examination under way: the files, and the findings so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.doctor.files import Tree
from pitstop.doctor.findings import Code, Finding, Severity
from pitstop.doctor.inspecting import Inspector


@dataclass
class Examination:
    """The inspector of a checkpoint's files, and what it has brought to light."""

    inspector: Inspector
    findings: list[Finding] = field(default_factory=list)

    @property
    def tree(self) -> Tree:
        return self.inspector.tree

    def find(
        self,
        code: Code,
        severity: Severity,
        sentence: str,
        files: list[str] | None = None,
        operator: int | None = None,
        advice: str = "",
    ) -> None:
        """Add a finding."""
        self.findings.append(Finding(code, severity, sentence, tuple(files or ()), operator, advice))
