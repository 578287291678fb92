"""The shell of ``pitstop sql``: statements over several lines, with history and completion."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.shortcuts import clear

from pitstop.cli.context import Call, fail
from pitstop.errors import PitstopError, UsageError
from pitstop.sql.splitting import is_complete, keywords

COMMANDS = ("clear", "exit", "help", "history")
HELP = """Statements end at a semicolon, and may take several lines:
  CREATE [OR REPLACE] MAPPING [IF NOT EXISTS] name [EXTERNAL NAME name] [(column type, ...)] TYPE type [OPTIONS (...)];
  CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS SELECT ...;
  DROP {MAPPING | VIEW} [IF EXISTS] name;
  CREATE JOB [IF NOT EXISTS] name [OPTIONS ('key' = 'value', ...)] AS {INSERT | SINK} INTO mapping [(columns)] SELECT ...;
  {UPDATE | CHECK} JOB name [OPTIONS (...)] AS {INSERT | SINK} INTO mapping [(columns)] SELECT ...;
  ALTER JOB name {SUSPEND | RESUME | RESTART | OPTIONS ('key' = 'value', ...) [RESUME]};
  {EXPLAIN | DESCRIBE} JOB name;
  DROP JOB [IF EXISTS] name [WITH SNAPSHOT snapshot];
  CREATE OR REPLACE SNAPSHOT snapshot FOR JOB name;
  DROP SNAPSHOT [IF EXISTS] snapshot;
  SHOW {JOBS | SNAPSHOTS | MAPPINGS | VIEWS};
Names that are not letters, digits and _ alone stand in double quotes, values of options in single ones.
  SELECT ...; {INSERT | SINK} INTO map {SELECT ... | VALUES (...), ...};
Commands: \\d (mappings and views), \\d name (columns, or a view's query), clear, exit, help, history.
Control-C drops what was typed, Control-D leaves."""


class Shell:
    """``carry_out``: does and shows what the statements of a text say."""

    def __init__(self, call: Call, carry_out: Callable[[str], None]) -> None:
        self._call, self._carry_out = call, carry_out
        history = _history_file()
        self._completer = StatementCompleter(call)
        self._session: PromptSession[str] = PromptSession(
            "sql> ",
            multiline=Condition(self._goes_on),
            prompt_continuation="   > ",
            history=FileHistory(str(history)),
            completer=self._completer,
            complete_while_typing=False,
        )

    def talk(self) -> None:
        """Until the user leaves. What fails is told, and the next statement may come."""
        info = self._call.service().server_info()
        others = f" (+{len(info.members) - 1} more)" if len(info.members) > 1 else ""
        self._completer.learn_columns()
        print(f"Connected to Pitstop {info.version} at {self._call.address}{others}. Type 'help' for help.")
        while True:
            try:
                text = self._session.prompt().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            if text == "exit":
                break
            self._answer(text)
        print("Exiting from SQL console")

    def _answer(self, text: str) -> None:
        if text == "clear":
            clear()
        elif text == "help":
            print(HELP)
        elif text.startswith("\\d"):
            self._answer(self._completer.description(text[2:].strip(" ;")))
        elif text == "history":
            print("\n".join(self._session.history.get_strings()))
        elif text:
            try:
                self._carry_out(text)
                if {"MAPPING", "VIEW"} & set(text.upper().split()):
                    self._completer.learn_columns()
            except PitstopError as error:
                fail(error, self._call.verbose)
            except KeyboardInterrupt:
                print("Not waiting any more; the statement may still run to its end.")

    def _goes_on(self) -> bool:
        text = self._session.default_buffer.text.strip()
        return bool(text) and text not in COMMANDS and not text.startswith("\\") and not is_complete(text)


class StatementCompleter(Completer):
    """Words of the language; jobs and snapshots where one is named."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._columns: list[str] = []

    def learn_columns(self) -> None:
        """Ask for the columns of mappings, beside whatever is typed meanwhile: the first query takes a while."""
        threading.Thread(target=self._learn, daemon=True).start()

    def _learn(self) -> None:
        with contextlib.suppress(PitstopError):
            self._columns = self._names("SELECT DISTINCT column_name FROM information_schema.columns")

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = _last_word(document.text_before_cursor)
        before = document.text_before_cursor[: -len(typed) or None].upper().replace("(", " ").split()
        for word in self._words(before[-1] if before else ""):
            if word.lower().startswith(typed.lower()):
                yield Completion(word, start_position=-len(typed))

    def _words(self, before: str) -> list[str]:
        try:
            if before in ("JOB", "EXISTS"):
                return [_quoted(each.display_name) for each in self._call.service().jobs()] + ["IF EXISTS"]
            if before in ("FROM", "JOIN", "INTO", "TABLE", "MAPPING", "VIEW", "\\D"):
                of_tables = ["TUMBLE(", "HOP(", "SESSION(", "IMPOSE_ORDER("] if before == "TABLE" else ["TABLE("]
                return [_quoted(name) for name in self._names("SHOW MAPPINGS") + self._names("SHOW VIEWS")] + of_tables
            if before == "SNAPSHOT":
                return [_quoted(each.name) for each in self._call.service().snapshots()] + ["IF EXISTS"]
        except PitstopError:
            pass  # names that cannot be had are not completed
        return [*keywords(), *map(_quoted, self._columns)]

    def description(self, name: str) -> str:
        """The statement that tells of a mapping's columns, of a view's query, or of all mappings and views."""
        if not name:
            return "SHOW MAPPINGS; SHOW VIEWS;"
        plain = name.strip('"')
        text = "'" + plain.replace("'", "''") + "'"
        with contextlib.suppress(PitstopError):  # which the statement will meet, too
            if plain in self._names("SHOW VIEWS"):
                return f"SELECT view_definition FROM information_schema.views WHERE table_name = {text};"
        columns = "column_name, data_type, external_name"
        return f"SELECT {columns} FROM information_schema.columns WHERE table_name = {text} ORDER BY ordinal_position;"

    def _names(self, statement: str) -> list[str]:
        (names,) = [[str(name) for (name,) in result.rows] for result in self._call.service().sql(statement)]
        return names


def _last_word(text: str) -> str:
    """Return the last word as far as it is typed, or the last name in double quotes."""
    if text.count('"') % 2:
        return text[text.rfind('"') :]
    begin = len(text)
    while begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
        begin -= 1
    return text[begin:]


def _quoted(name: str) -> str:
    if name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit():
        return name
    return '"' + name.replace('"', '""') + '"'


def _history_file() -> Path:
    """Of this user alone."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "pitstop"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"The history of statements cannot be kept in {folder}: {error.strerror}.") from None
    file = folder / "sql-history"
    file.touch(mode=0o600)
    return file
