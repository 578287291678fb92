"""Writes the parts of the documentation that are made from the code: ``python -m pitstop.cli.reference docs``.

``docs/options.md`` is the table of job options, ``docs/keeping.md`` that of what is kept. In ``docs/cli.md`` everything after
the mark is the reference of commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup

from pitstop.cli.main import app
from pitstop.model.config import OPTIONS
from pitstop.model.options import Option, as_written
from pitstop.model.retention import KEPT, USUAL

MARK = "<!-- Below this line: written by `python -m pitstop.cli.reference docs`. -->\n"

_OPTIONS_HEAD = """# Job options

Written by `python -m pitstop.cli.reference docs`. An option stands in the job's code (`@ps.job(partitions=4)`), on the command
line (`-O partitions=4`), in a request (`"options": {"partitions": 4}`) or in Python (`config={"partitions": 4}`); what is given
at submission goes over the code. An update, of a running or of a suspended job, goes over what the version before was given;
`pitstop configure` changes options of a suspended job without a new version. Where `none` may be written, `-1` means the same (in
SQL `'timeoutMillis'='-1'`): it takes back what was given before; of `restart` it is a strategy. `null`, and `None` in Python,
leave an option as it is.

| option | write | default | what it does | `update` may change it | `configure` may change it |
|---|---|---|---|---|---|
"""


_KEEPING_HEAD = """# What is kept, and how long

Written by `python -m pitstop.cli.reference docs`. What grows with time, rows or epochs is pruned, as settings of the server say
(the end of this page tells what is not):
`pitstop serve --keep events=5000 --keep result-time=30d`, or `PITSTOP_KEEP=events=5000,result-time=30d`; what the command
line says goes over the variable.
A duration is a number and a unit (`36h`, `7 days`). What is out of these bounds is refused at the start.

| name | default | from | to | what is kept |
|---|---|---|---|---|
"""
_KEEPING_TAIL = """
`pitstop cluster settings` shows what is in force, as do `GET /api/v1/settings` and, in Python, `client.service.settings()`.

- They count from the next start of the server. What is too much then goes within the hour; of the audit trail, as new entries
  come.
- Results, states of ended jobs, and what jobs have to which nothing happens, are looked at once an hour.
- A result that is one too many goes before its time, and the state of its job with it.
- Runs prune the history of their jobs once a minute, while the server is away, too. They read the settings in `keep.json` of the
  data folder, so that runs that go on follow a server that was started again within a minute or two.
- Of several servers with a common store the one that leads prunes. Give all of them the same settings: each shows its own.
- Code stays as long as a version that is kept names it: fewer versions are less room on the disk.
- How much of a log is kept is said by `--log-size` and `--log-files` ([logging.md](logging.md)), of a map's journal by the map.

## What is not pruned

- Snapshots, until `pitstop delete-snapshot`: also `<job>-before-<version>`, which each update makes unless it is given another
  name. They are how a job is taken back with its state, and no setting may take that away. Those of jobs that have ended stay,
  too. (Snapshots that rescaling makes for itself go with it.)
- Of each checkpoint that a job has gone on with in its life (a start from a snapshot, or an update, may begin a new one): one row
  of the store for each of its sinks into a map, until the map is removed; and in the folder of each files sink
  `_pitstop/<checkpoint>/<sink>` with the manifests of its last two epochs. By them an epoch is written once. Nobody knows whether
  another server, or a copy of the data folder, still has that checkpoint. They do not grow with rows or epochs; once no job
  writes into the folder any more, its `_pitstop` may be removed.
- What sinks write, dead letters among it: that is yours.
- Journals of maps have so many events, whatever their size: large values make large journals.
"""


def keeping_page() -> str:
    """docs/keeping.md."""
    usual = USUAL.written()
    bounds = [(setting, setting.written(setting.least), setting.written(setting.most)) for setting in KEPT]
    rows = [
        f"| `{setting.name}` | {usual[setting.name]} | {least} | {most} | {setting.meaning} |\n"
        for setting, least, most in bounds
    ]
    return _KEEPING_HEAD + "".join(rows) + _KEEPING_TAIL


def options_page(options: Iterable[Option]) -> str:
    """docs/options.md."""
    return _OPTIONS_HEAD + "".join(map(_option_row, options))


def _option_row(option: Option) -> str:
    default = "" if option.default is None else f"`{as_written(option.default)}`"
    update, configure = "yes" if option.on_update else "no", "yes" if option.fixed is None else f"no: {option.fixed}"
    return f"| `{option.name}` | {option.form} | {default} | {option.meaning} | {update} | {configure} |\n"


def commands_part(cli: typer.Typer) -> str:
    """Every command: how it is called, what it does, its arguments and options."""
    group = typer.main.get_command(cli)
    assert isinstance(group, TyperGroup)
    return "".join(_sections("pitstop", group))


def _sections(name: str, group: TyperGroup) -> Iterable[str]:
    for command in (each for each in group.commands.values() if not each.hidden):
        full = f"{name} {command.name}"
        if isinstance(command, TyperGroup):
            yield from _sections(full, command)
        elif isinstance(command, TyperCommand):
            yield _section(full, command)


def _section(name: str, command: TyperCommand) -> str:
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    records = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
    rows = [f"| `{names}` | {_cell(help)} |\n" for names, help in records if "--help" not in names]
    table = f"\n| | |\n|---|---|\n{''.join(rows)}" if rows else ""
    return f"\n## {name}\n\n`{usage}`\n\n{command.help}\n{table}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write(folder: Path) -> None:
    """Bring the files up to date."""
    (folder / "keeping.md").write_text(keeping_page())
    (folder / "options.md").write_text(options_page(OPTIONS))
    page = folder / "cli.md"
    page.write_text(with_reference(page.read_text()))


def with_reference(page: str) -> str:
    """docs/cli.md with the reference of today."""
    return page.partition(MARK)[0] + MARK + commands_part(app)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
