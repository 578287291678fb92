"""The examples in ``--help`` and in docs/cli.md: of each command its lines, each with its purpose."""

from __future__ import annotations

from pitstop.cli.deeds import DEEDS

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {deed.name: deed.examples for deed in DEEDS} | {
    "init": (
        ("pitstop init", "a project in this folder"),
        ("pitstop init speeds", "in the new folder speeds"),
    ),
    "serve": (
        ("pitstop serve", ""),
        ("pitstop serve --port 0 --data /tmp/try", "a server to try things, on a free port"),
        ("pitstop serve --keep events=5000 --pass-env 'AWS_*'", ""),
    ),
    "ui": (("pitstop ui", "in your browser"), ("pitstop ui --link", "a link for another machine's")),
    "submit": (
        ("pitstop submit speeds.py /data/cars", "what follows the file are the job's arguments"),
        ("pitstop submit -n speeds -O partitions=4 speeds.py /data/cars", ""),
        ("pitstop submit -s before-monday speeds.py /data/cars", "start from a snapshot"),
        ("pitstop submit --dry-run -s before-monday speeds.py", "compile and compare, start nothing"),
        ("pitstop submit --detach speeds.py /data/cars", "do not wait until it runs"),
    ),
    "check": (
        ("pitstop check speeds.py /data/cars", "does it compile?"),
        ("pitstop check -j speeds speeds_v2.py", "what would an update do to its state?"),
        ("pitstop check -s before-monday speeds_v2.py", ""),
        ("pitstop check --local speeds.py /data/cars", "without a server, for instance in CI"),
    ),
    "update": (
        ("pitstop update speeds speeds_v2.py", "arguments stay as they were"),
        ("pitstop update --watch 60 speeds speeds_v2.py", "go back if it fails within a minute"),
        ("pitstop update --dry-run speeds speeds_v2.py", "the report alone"),
        ("pitstop update --renamed tempo=speed --allow-drop=old speeds speeds_v2.py", ""),
    ),
    "rollback": (
        ("pitstop rollback speeds", "from an update that is under way or watched"),
        ("pitstop rollback --to 3 speeds", "to the code of version 3, with the present state"),
        ("pitstop rollback --to 3 --state snapshot speeds", "to that version's own snapshot"),
    ),
    "apply": (
        ("pitstop apply -f jobs.yaml --dry-run", "show the plan"),
        ("pitstop apply -f jobs.yaml", "show it, ask if state would be dropped, carry it out"),
        ("pitstop apply -f jobs.yaml -e production", "with the arguments and options of that environment"),
        ("pitstop apply -f jobs.yaml --yes --prune", "in CI; jobs that the file leaves out are deleted"),
    ),
    "wait": (
        ("pitstop wait speeds", "until it has ended"),
        ("pitstop wait --for running --timeout 5m speeds orders", ""),
    ),
    "configure": (("pitstop configure speeds snapshot_interval='1 second'", "of a suspended job"),),
    "delete": (
        ("pitstop delete speeds", "cancel it and remove its state; asks first"),
        ("pitstop delete --yes speeds orders", ""),
    ),
    "discard": (("pitstop discard speeds", ""), ("pitstop discard --all", "of all ended jobs")),
    "list-jobs": (
        ("pitstop list-jobs", ""),
        ("pitstop list-jobs -a -o wide", "ended ones, too, with progress"),
        ("pitstop list-jobs --status failed", ""),
        ("pitstop list-jobs -o name", ""),
        ("pitstop list-jobs -o jsonpath='$[?@.status==\"RUNNING\"].id'", ""),
        ("pitstop list-jobs -w", "follow changes"),
    ),
    "status": (("pitstop status speeds", ""), ("pitstop status -o jsonpath=progress.epoch speeds", "")),
    "logs": (
        ("pitstop logs speeds", ""),
        ("pitstop logs -f --tail 20 speeds", "the last 20 lines, and then all new ones"),
        ("pitstop logs --since 10m --level warn speeds", ""),
        ("pitstop logs -o json speeds", "JSON lines, as they are stored"),
    ),
    "events": (("pitstop events speeds", ""), ("pitstop events -f speeds", "follow them")),
    "history": (("pitstop history --step minute speeds", ""),),
    "graph": (("pitstop graph speeds", ""), ("pitstop graph --dot speeds", "for Graphviz: | dot -Tsvg")),
    "tasks": (("pitstop tasks speeds", ""), ("pitstop tasks -v speeds", "with the plan of Spark")),
    "peek": (("pitstop peek speeds windows", ""), ("pitstop peek -n 5 -o json speeds windows", "")),
    "versions": (("pitstop versions speeds", ""),),
    "options": (("pitstop options speeds", ""),),
    "save-snapshot": (
        ("pitstop save-snapshot speeds before-monday", "the job goes on"),
        ("pitstop save-snapshot -C speeds before-monday", "the job ends exactly there"),
    ),
    "list-snapshots": (("pitstop list-snapshots", ""), ("pitstop list-snapshots -o name", "")),
    "delete-snapshot": (
        ("pitstop delete-snapshot before-monday", ""),
        ("pitstop delete-snapshot --dry-run before-monday after-monday", ""),
    ),
    "snapshot inspect": (("pitstop snapshot inspect before-monday", ""),),
    "snapshot query": (("pitstop snapshot query before-monday speed \"SELECT * FROM state WHERE vin = 'a'\"", ""),),
    "snapshot export": (("pitstop snapshot export before-monday speed speed.parquet", ""),),
    "snapshot import": (("pitstop snapshot import --as repaired before-monday speed speed.parquet", ""),),
    "snapshot diff": (("pitstop snapshot diff before-monday after-monday", ""),),
    "map put": (("pitstop map put vehicles car1 '{\"speed\": 30}'", ""),),
    "map get": (("pitstop map get vehicles car1", ""),),
    "map entries": (("pitstop map entries vehicles --prefix car --where 'speed > 30'", ""),),
    "map journal": (("pitstop map journal vehicles --after 1000 --limit 20", ""),),
    "map clear": (("pitstop map clear vehicles --yes", ""),),
    "map configure": (("pitstop map configure vehicles --journal-capacity 10000", ""),),
    "sql": (
        ("pitstop sql", "a shell"),
        ("pitstop sql -e 'SHOW JOBS'", ""),
        ("pitstop sql -f jobs.sql", ""),
    ),
    "log-level": (
        ("pitstop log-level", "the levels that are set"),
        ("pitstop log-level pitstop.source debug --job speeds", ""),
        ("pitstop log-level pitstop.source usual --job speeds", "take it back"),
    ),
    "support-bundle": (
        ("pitstop support-bundle", "of the server"),
        ("pitstop support-bundle --data ~/.pitstop bundle.tar.gz", "of one that does not start"),
    ),
    "doctor": (
        ("pitstop doctor /data/checkpoints/orders", ""),
        ("pitstop doctor env --data /var/lib/pitstop", "whether this machine has all that a server needs"),
        ('pitstop doctor /data/checkpoints/orders --operator 0 --query "SELECT * FROM state"', "the rows of its state"),
    ),
    "adopt": (
        ("pitstop adopt --plan /data/checkpoints/orders orders.py", "shows what it would do"),
        ("pitstop adopt /data/checkpoints/orders orders.py", "makes the snapshot orders"),
        ("pitstop submit -s orders orders.py", ""),
    ),
    "completion": (("source <(pitstop completion bash)", "in ~/.bashrc"), ("pitstop completion fish | source", "")),
    "help": (("pitstop help", ""), ("pitstop help job list", "")),
}
