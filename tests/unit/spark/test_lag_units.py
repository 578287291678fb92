"""docs/metrics.md names the unit of the lag of each kind of source that has one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src" / "pitstop" / "spark" / "sources"


def test_each_kind_of_source_with_a_lag_has_its_unit_in_the_page_of_metrics():
    units = {}
    for path in SOURCES.glob("*.py"):
        for unit in re.findall(r'Behind\(.*, "(\w+)"\)', path.read_text()):
            units[path.stem] = unit
    in_java = re.findall(r'putArray\("behind"\).*\.add\("(\w+)"\)', (ROOT / "src/pitstop/java/kafka/KafkaFeed.java").read_text())
    units["kafka"] = in_java[0]
    assert units["csv_tail"] == "bytes"
    documented = dict(re.findall(r"^- `(\w+)`: `(\w+)`", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE))
    assert documented == units
