"""What every test has in common."""

import sys

import structlog

# Unconfigured, structlog draws each expected traceback with all its variables, which takes longer than the tests.
structlog.configure(
    processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
    logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
)
