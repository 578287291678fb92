"""Writes the parts of the documentation that are made from the code: ``python -m pitstop.main.reference docs``.

``docs/options.md`` describes the job options, ``docs/keeping.md`` that of what is kept, ``docs/rest.md`` the endpoints, and
``docs/errors.md`` the codes of errors. In ``docs/cli.md`` everything after the mark is the reference of commands.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup

from pitstop.cli.exits import Exit
from pitstop.cli.register import SYNONYMS, examples_of
from pitstop.main.commands import app
from pitstop.main.reference_http import cell, errors_page, rest_page
from pitstop.model.config import OPTIONS
from pitstop.model.options import Option, as_written
from pitstop.model.retention import KEPT, USUAL
from pitstop.rest.description import description

MARK = "<!-- Below this line: written by `python -m pitstop.main.reference docs`. -->\n"

_OPTIONS_HEAD = """# Job options

`python -m pitstop.main.reference docs` writes this page. You give an option in one of four places:

- in the job's code: `@ps.job(partitions=4)`
- on the command line: `-O partitions=4`
- in a request: `"options": {"partitions": 4}`
- in Python: `config={"partitions": 4}`

Options at submission override those in the code. Options of an update override those of the version before; the job may run or
be suspended. `pitstop configure` changes options of a suspended job without a new version.

Where you may write `none`, `-1` means the same (in SQL `'timeoutMillis'='-1'`): it resets an option that was set before. Only
for `restart`, `none` is a strategy. `null`, and `None` in Python, leave an option as it is.
"""


_KEEPING_HEAD = """# What is kept, and how long

`python -m pitstop.main.reference docs` writes this page. A server prunes data that grows with time, rows or epochs. Settings of
the server say how much stays:

```
pitstop serve --keep events=5000 --keep result-time=30d
PITSTOP_KEEP=events=5000,result-time=30d pitstop serve
```

The command line overrides the variable. A duration is a number and a unit (`36h`, `7 days`). The server refuses a value out of
these bounds at its start. The end of this page lists data that is not pruned.

| name | default | from | to | what is kept |
|---|---|---|---|---|
"""
_KEEPING_TAIL = """
`pitstop cluster settings` shows the settings in force, and so do `GET /api/v1/settings` and, in Python,
`client.service.settings()`.

- New settings count from the next start of the server. Surplus data then goes within the hour, and surplus entries of the audit
  trail as new entries come.
- Results, states of ended jobs, and data of idle jobs are checked once an hour.
- If there are too many results, the oldest go before their time, together with the states of their jobs.
- Runs prune the history of their jobs once a minute, also while the server is away. They read the settings in `keep.json` of
  the data folder. So existing runs follow a server that was started again within a minute or two.
- Of several servers with a common store, the leading one prunes. Give all of them the same settings: each shows its own.
- Code stays as long as a version that is kept names it. So fewer versions take less room on the disk.
- `--log-size` and `--log-files` say how much of a log is kept ([logging.md](logging.md)). Each map says how much of its journal
  is kept.

## Data that is not pruned

- **Snapshots** stay until `pitstop delete-snapshot`. This includes `<job>-before-<version>`, which each update makes unless you
  give it another name. You need these to take a job back with its state, so no setting removes them, even after the job has
  ended. Only the snapshots that rescaling makes for itself go with it.
- **Records of checkpoints** stay. A start from a snapshot, or an update, may begin a new checkpoint of a job. For each one
  there is a row of the store for each sink into a map, until the map is removed. The folder of each files sink has
  `_pitstop/<checkpoint>/<sink>` with the manifests of the last two epochs. With these, each epoch is written once. Another
  server, or a copy of the data folder, may still have that checkpoint. The records do not grow with rows or epochs. Once no job
  writes into the folder any more, you may remove its `_pitstop`.
- **The output of sinks**, including dead letters, is yours.
- **Journals of maps** have a fixed number of events, whatever their size: large values make large journals.
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
    return _OPTIONS_HEAD + "".join(map(_option_section, options))


def _option_section(option: Option) -> str:
    """Return the section of one option: its meaning, its values, and the requests that may change it."""
    default = "" if option.default is None else f"- Default: `{as_written(option.default)}`\n"
    return (
        f"\n## `{option.name}`\n\n{textwrap.fill(option.meaning, 130, break_long_words=False, break_on_hyphens=False)}\n\n"
        f"- Values: {option.form}\n{default}"
        f"- `update` may change it: {'yes' if option.on_update else 'no'}\n"
        f"- `configure` may change it: {'yes' if option.fixed is None else f'no, {option.fixed}'}\n"
    )


def commands_part(cli: typer.Typer) -> str:
    """Every command: how it is called, what it does, its arguments and options."""
    group = typer.main.get_command(cli)
    assert isinstance(group, TyperGroup)
    return "".join([_exit_codes(), _synonyms(), *_sections("pitstop", group)])


def _exit_codes() -> str:
    rows = [f"| {code.value} | {code.meaning} |\n" for code in Exit]
    return (
        "\n## Exit codes\n\nThe code tells the kind of outcome. Of several jobs in one call, the first that fails gives it.\n\n"
        + ("| code | meaning |\n|---|---|\n" + "".join(rows))
    )


def _synonyms() -> str:
    """Return the table of second names."""
    rows = [f"| `pitstop {name}` | `pitstop {first}` |\n" for name, first in SYNONYMS.items()]
    return "\n## Second names\n\nEach pair is one command.\n\n| by noun | |\n|---|---|\n" + "".join(rows)


def _sections(name: str, group: TyperGroup) -> Iterable[str]:
    for command in (each for each in group.commands.values() if not each.hidden):
        full = f"{name} {command.name}"
        if full.removeprefix("pitstop ") in SYNONYMS:
            continue
        if isinstance(command, TyperGroup):
            yield from _sections(full, command)
        elif isinstance(command, TyperCommand):
            yield _section(full, command)


def _section(name: str, command: TyperCommand) -> str:
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    records = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
    rows = [f"| `{names}` | {cell(help)} |\n" for names, help in records if "--help" not in names]
    table = f"\n| | |\n|---|---|\n{''.join(rows)}" if rows else ""
    lines = examples_of(name.removeprefix("pitstop "))
    width = max((len(line) for line, _ in lines), default=0)
    examples = "".join(f"{f'{line:<{width}}   # {purpose}' if purpose else line}\n" for line, purpose in lines)
    block = f"\n```\n{examples}```\n" if lines else ""
    return f"\n## {name}\n\n`{usage}`\n\n{command.help}\n{block}{table}"


def write(folder: Path) -> None:
    """Bring the files up to date."""
    (folder / "keeping.md").write_text(keeping_page())
    (folder / "options.md").write_text(options_page(OPTIONS))
    (folder / "rest.md").write_text(rest_page(description()))
    (folder / "errors.md").write_text(errors_page())
    page = folder / "cli.md"
    page.write_text(with_reference(page.read_text()))


def with_reference(page: str) -> str:
    """docs/cli.md with the reference of today."""
    return page.partition(MARK)[0] + MARK + commands_part(app)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
