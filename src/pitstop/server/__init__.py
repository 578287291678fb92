"""The control-plane process: store, control loop, REST, wired together."""

from pitstop.server.settings import Settings

__all__ = ["Settings", "run_server"]


def run_server(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM."""
    from pitstop.server.app import run_server as run

    run(settings)
