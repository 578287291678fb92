"""``python -m pitstop.member``: the command by which a server starts the members of its own machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pitstop.errors import PitstopError
from pitstop.member.app import run_member
from pitstop.member.settings import MemberSettings
from pitstop.model.cluster import LOOPBACK


def main() -> int:
    parser = argparse.ArgumentParser(prog="pitstop.member")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--cores", type=int)
    parser.add_argument("--store")
    parser.add_argument("--host", default=LOOPBACK)
    parser.add_argument("--pass-env", action="append", default=[])
    parser.add_argument("--log-bytes", type=int, default=MemberSettings.log_bytes)
    parser.add_argument("--log-files", type=int, default=MemberSettings.log_files)
    options = parser.parse_args()
    try:
        run_member(
            MemberSettings(
                data_dir=options.data,
                name=options.name,
                cores=options.cores,
                store=options.store,
                host=options.host,
                pass_env=tuple(options.pass_env),
                log_bytes=options.log_bytes,
                log_files=options.log_files,
            )
        )
    except PitstopError as error:
        print(error.message, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
