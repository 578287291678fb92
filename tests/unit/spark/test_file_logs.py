"""Logs of Spark's file sources are shortened and moved, whatever their paths hold."""

import json

from pitstop.spark.restoring.file_logs import drop_entries, move_entries


def test_paths_with_other_line_breaks_are_moved_and_dropped(tmp_path):
    paths = ["file:///old/ab\u2028c.csv", "file:///old/x\u0085y.csv"]
    entries = [{"path": path, "timestamp": 1, "batchId": number} for number, path in enumerate(paths)]
    compact = tmp_path / "1.compact"
    compact.write_text("\n".join(["v1", *(json.dumps(entry, ensure_ascii=False) for entry in entries)]))
    move_entries(tmp_path, "file:///old/", "file:///new/")
    drop_entries(tmp_path, 0)
    version, entry = compact.read_text().split("\n")
    assert (version, json.loads(entry)) == ("v1", entries[0] | {"path": "file:///new/ab\u2028c.csv"})
    compact.write_text("\n".join(["v1", *(json.dumps(entry, ensure_ascii=False) for entry in entries)]))
    move_entries(tmp_path, "file:///old/", "file:///new/")
    moved = [json.loads(line)["path"] for line in compact.read_text().split("\n")[1:]]
    assert moved == [path.replace("/old/", "/new/") for path in paths]
