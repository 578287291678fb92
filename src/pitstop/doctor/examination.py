"""An examination under way: the files, and the findings so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.doctor.files import Tree
from pitstop.doctor.findings import Code, Finding, Severity
from pitstop.doctor.inspecting import Inspector
from pitstop.doctor.numbers import MOST_NAMED


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
        total: int | None = None,
    ) -> None:
        """Add a finding, which names a hundred of its files. ``total``: how many they are, if ``files`` are not all."""
        names = tuple((files or [])[:MOST_NAMED])
        more = (len(files or ()) if total is None else total) - len(names)
        self.findings.append(Finding(code, severity, sentence, names, operator, advice, more))
