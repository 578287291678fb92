"""The version of Pitstop."""

__version__ = "0.1.0"
