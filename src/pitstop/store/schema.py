"""The tables. A change here needs a migration (tests/unit/store/test_migrations.py compares them)."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text, text

metadata = MetaData()

Whole = BigInteger().with_variant(Integer, "sqlite")
"""A whole number of 64 bits, as SQLite's integers are."""
Name = String(200).with_variant(String(200, collation="C"), "postgresql")
Key = Text().with_variant(Text(collation="C"), "postgresql")
"""Texts in the order of their code points, as in SQLite: PostgreSQL otherwise uses the order of a language."""

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(19), primary_key=True),
    Column("name", String(200)),
    Column("active", Boolean, nullable=False),
    Column("token", Whole, nullable=False),
    Column("submission_time", Float, nullable=False),
    # The update whose version's writes may have to be withdrawn (model.job.Job.withdrawable): read with the token at each write.
    Column("withdrawable", Whole),
    Column("body", JSON, nullable=False),
    # One active job of a name, whoever submits at the same moment.
    Index("one_active_job_per_name", "name", unique=True, sqlite_where=text("active = 1"), postgresql_where=text("active")),
)

job_progress = Table(
    "job_progress",
    metadata,
    Column("job_id", String(19), primary_key=True),
    Column("body", JSON, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("job_id", String(19), primary_key=True),
    Column("token", Whole, primary_key=True, autoincrement=False),
    # The process that has the run, in words of the launcher that started it.
    Column("handle", Text, nullable=False),
    Column("expires", Float, nullable=False),
)

leadership = Table(
    "leadership",
    metadata,
    # There is one row.
    Column("id", Whole, primary_key=True, autoincrement=False),
    Column("epoch", Whole, nullable=False),
    # The address of the control plane that leads, or did last.
    Column("leader", Text, nullable=False),
    Column("expires", Float, nullable=False),
    # The number of times that all control planes were asked to end.
    Column("ends", Whole, nullable=False, server_default="0"),
)

operations = Table(
    "operations",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("job_id", String(19), nullable=False, index=True),
    Column("verb", String(30), nullable=False),
    Column("args", JSON, nullable=False),
    Column("state", String(10), nullable=False, index=True),
    Column("error", JSON),
    Column("result", JSON),
    Column("created", Float, nullable=False),
    # Operations that were answered lately are looked for all the time.
    Column("finished", Float, index=True),
    sqlite_autoincrement=True,
)

commands = Table(
    "commands",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("job_id", String(19), nullable=False, index=True),
    Column("token", Whole, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("args", JSON, nullable=False),
    sqlite_autoincrement=True,
)

observations = Table(
    "observations",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("job_id", String(19), nullable=False),
    Column("token", Whole, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("at", Float, nullable=False),
    sqlite_autoincrement=True,
)

job_events = Table(
    "job_events",
    metadata,
    Column("job_id", String(19), primary_key=True),
    Column("sequence", Whole, primary_key=True, autoincrement=False),
    Column("body", JSON, nullable=False),
    sqlite_with_rowid=False,
)

# The versions that jobs have and had.
job_versions = Table(
    "job_versions",
    metadata,
    Column("job_id", String(19), primary_key=True),
    Column("number", Whole, primary_key=True, autoincrement=False),
    Column("since", Float, nullable=False),
    Column("body", JSON, nullable=False),
)

# The work of a job in each of the last seconds and minutes: ``at`` is the begin of a span of ``step`` seconds.
samples = Table(
    "samples",
    metadata,
    Column("job_id", String(19), primary_key=True),
    Column("step", Whole, primary_key=True, autoincrement=False),
    Column("at", Whole, primary_key=True, autoincrement=False),
    Column("body", JSON, nullable=False),
    sqlite_with_rowid=False,
)

audit = Table(
    "audit",
    metadata,
    Column("sequence", Whole, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("role", String(20), nullable=False),
    Column("user", String(200)),
    Column("door", String(20), nullable=False),
    Column("method", String(10), nullable=False),
    Column("path", Text, nullable=False),
    Column("status", Integer, nullable=False),
    sqlite_autoincrement=True,
)

# Sessions of browsers that were signed out, until they would have ended by themselves.
ended_sessions = Table(
    "ended_sessions",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("until", Float, nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("name", Name, primary_key=True),
    Column("job_id", String(19), nullable=False),
    Column("job_name", String(200)),
    Column("created", Float, nullable=False),
    Column("bytes", Whole, nullable=False),
    Column("path", Text, nullable=False),
    Column("epoch", Whole, nullable=False),
    Column("details", JSON, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("address", String(260), nullable=False),
    Column("version", String(40), nullable=False),
    Column("cores", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("joined", Float, nullable=False),
    Column("seen", Float, nullable=False),
)

# Runs that a member is to start, or has started.
assignments = Table(
    "assignments",
    metadata,
    Column("job_id", String(19), primary_key=True),
    Column("token", Whole, primary_key=True, autoincrement=False),
    Column("member_id", String(36), nullable=False, index=True),
    Column("job_name", String(200)),
    Column("state", String(10), nullable=False),
)

# Processes that a member of their machine is to end, in words of the launcher.
kills = Table("kills", metadata, Column("handle", Text, primary_key=True), Column("asked", Float, nullable=False))

maps = Table(
    "maps",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("name", Name, nullable=False, unique=True),
    Column("incarnation", String(32), nullable=False),
    Column("journal_capacity", Whole, nullable=False),
    Column("ttl_seconds", Float),
    Column("newest", Whole, nullable=False),
    # Entries stored, those included that have expired and are not yet purged: counting a large map reads all of it.
    Column("stored", Whole, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)

map_entries = Table(
    "map_entries",
    metadata,
    Column("map_id", Whole, primary_key=True, autoincrement=False),
    Column("key", Key, primary_key=True),
    Column("value", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("expires", Float),
    Column("version", Whole, nullable=False),
    # Of a sink that keeps the newest of a key (maps.order); null: the next write wins.
    Column("ordering", Text),
    # Each write finds the expired entries by this index, however large the map. Maps without expiry have no rows in it.
    Index(
        "map_entries_by_expiry",
        "map_id",
        "expires",
        sqlite_where=text("expires IS NOT NULL"),
        postgresql_where=text("expires IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

map_journal = Table(
    "map_journal",
    metadata,
    Column("map_id", Whole, primary_key=True, autoincrement=False),
    Column("sequence", Whole, primary_key=True, autoincrement=False),
    Column("kind", String(8), nullable=False),
    Column("key", Key, nullable=False),
    Column("old_value", Text),
    Column("new_value", Text),
    Column("at", Float, nullable=False),
    sqlite_with_rowid=False,
)

# Entries before the new version of an update wrote them, while one may go back from it; without a value: no entry.
map_undo = Table(
    "map_undo",
    metadata,
    Column("operation", Whole, primary_key=True, autoincrement=False),
    Column("map_id", Whole, primary_key=True, autoincrement=False),
    Column("key", Key, primary_key=True),
    Column("value", Text),
    Column("created", Float),
    Column("updated", Float),
    Column("expires", Float),
    Column("version", Whole),
    Column("ordering", Text),
    # Of the entry as that version has left it: another one shows that somebody else has written since.
    Column("left_updated", Float),
    Column("left_version", Whole),
    sqlite_with_rowid=False,
)

sink_epochs = Table(
    "sink_epochs",
    metadata,
    Column("lineage", String(32), primary_key=True),
    Column("sink", String(200), primary_key=True),
    Column("map_id", Whole, primary_key=True, autoincrement=False),
    Column("epoch", Whole, nullable=False),
    # The digest of what the epoch reads (snapshots.epoch_digest); null: an older release has marked it, or it has none.
    Column("digest", String(64)),
)

# Mappings and views of SQL, each as the statement that makes it.
sql_names = Table(
    "sql_names",
    metadata,
    Column("name", Key, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("statement", Text, nullable=False),
)
