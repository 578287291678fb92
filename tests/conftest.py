"""What every test has in common."""

import os
import sys

import structlog

# A JVM of a test lives for seconds: to compile its code thoroughly would take longer than to run it.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Unconfigured, structlog draws each expected traceback with all its variables, which takes longer than the tests.
structlog.configure(
    processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()],
    logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
)
