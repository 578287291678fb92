"""Tests of your own jobs: ``JobTest`` runs a job in the test's process, and leads it from epoch to epoch. See docs/testing.md."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pitstop.testing.job_test import JobTest

__all__ = ["JobTest"]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Load ``JobTest`` when it is first used: pytest loads this package for its plugin, and most tests need no Spark."""
        if name == "JobTest":
            from pitstop.testing.job_test import JobTest

            return JobTest
        raise AttributeError(f"module 'pitstop.testing' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Name what users call, also what is not loaded yet."""
    return list(__all__)
