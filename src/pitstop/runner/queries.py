"""The process that carries out SELECT. It stays, so that each query finds Spark warm. Requests and answers are JSON lines."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pitstop.errors import PitstopError
from pitstop.kit.jsonable import from_json
from pitstop.machine.named_secrets import hidden_in
from pitstop.model.selecting import BEGIN_ANEW, Select
from pitstop.runner.session import session
from pitstop.sql.parsing import named

if TYPE_CHECKING:
    from pitstop.spark.selecting.asking import Asking
    from pitstop.spark.selecting.select import Selecting

log = logging.getLogger("pitstop.queries")
STORE_FACTORY = "pitstop.store.maps:open_map_store"


def serve_queries(store_url: str, work: Path, answers: IO[str]) -> None:
    """Answer requests that come through standard input until it ends."""
    from pitstop.spark.base.environment import SourceSettings
    from pitstop.spark.base.session import wait_for_java
    from pitstop.spark.selecting.asking import Asking
    from pitstop.spark.selecting.select import Selecting, bounded, remove_left, too_long
    from pitstop.store.database import open_database
    from pitstop.store.maps import SqlMapStore

    work.mkdir(parents=True, exist_ok=True)
    remove_left(work)
    spark = bounded(session(work))

    settings = SourceSettings(store_url=store_url, store_factory=STORE_FACTORY)
    spark.sql("SELECT 1").toArrow()  # loads what every query needs
    writing, open_ones = threading.Lock(), dict[int, Asking]()

    def say(message: dict[str, Any]) -> None:
        with writing:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

    def follow_java() -> None:
        wait_for_java(spark)
        _begin_anew("its Java is gone")

    threading.Thread(target=follow_java, daemon=True).start()

    def begin_anew(select: Select, asking: Asking) -> None:
        if asking.late:
            say({"id": select.id, "error": too_long(select).to_dict()})
        say({"blamed": select.id})
        _begin_anew("a query that is to end goes on")

    selecting = Selecting(spark, SqlMapStore(open_database(store_url)), settings, work, begin_anew)
    say({"ready": True})
    for line in sys.stdin:
        message = json.loads(line)
        if "select" not in message:
            open_one = open_ones.get(message.get("cancel", message.get("taken")))
            if open_one is not None:
                open_one.end() if "cancel" in message else open_one.taken()
            continue
        select = from_json(Select, message["select"])
        asking = open_ones[select.id] = Asking()
        threading.Thread(target=_carry_out, args=(selecting, select, asking, say, open_ones), daemon=True).start()
    for asking in list(open_ones.values()):
        asking.end()


def _carry_out(
    selecting: Selecting,
    select: Select,
    asking: Asking,
    say: Callable[[dict[str, Any]], None],
    open_ones: dict[int, Asking],
) -> None:
    def tell(columns: list[tuple[str, str]] | None, rows: list[list[Any]]) -> None:
        if columns is not None and not asking.over:
            say({"id": select.id, "columns": columns})
        if rows and asking.wait_for_room():
            say({"id": select.id, "rows": rows})

    from pitstop.spark.base.failures import explain_task
    from pitstop.spark.selecting.select import LostSparkError

    try:
        selecting.run(select, {thing.name: thing for thing in map(named, select.names)}, tell, asking)
        say({"id": select.id, "end": True})
    except LostSparkError:
        # Nothing is told: who asks for a process that ends without a word begins a query anew, once.
        _begin_anew("Spark has stopped")
    except PitstopError as error:
        say({"id": select.id, "error": hidden_in(error.to_dict())})
    except Exception as error:  # whoever asked is told
        say({"id": select.id, "error": hidden_in(explain_task(error).to_dict())})
    finally:
        open_ones.pop(select.id, None)
    if selecting.leaves_tasks():
        say({"blamed": select.id})
        _begin_anew("a query that has ended still keeps cores busy")


def _begin_anew(why: str) -> None:
    log.warning("%s: this process ends, and another one takes its place", why)
    os._exit(BEGIN_ANEW)
