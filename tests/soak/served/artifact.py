"""The job of a story, as it is submitted: its one argument is a version as JSON."""

import pitstop as ps
from tests.soak.served.job import Version, pipeline


@ps.job(processing_guarantee="exactly_once", snapshot_interval="500 ms", partitions=1)
def story(version):
    return pipeline(Version.from_text(version))
