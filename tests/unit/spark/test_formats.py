"""Formats that users name: the drivers of their jars."""

import zipfile

import pytest

from pitstop.errors import PipelineError
from pitstop.spark.base.formats import _driver_in


def test_a_jar_that_is_no_zip_is_told_by_its_name(tmp_path):
    jar, broken = tmp_path / "driver.jar", tmp_path / "broken.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/services/java.sql.Driver", "# ours\norg.example.Driver\n")
    broken.write_text("<html>not found</html>")
    assert _driver_in([jar]) == "org.example.Driver"
    with pytest.raises(PipelineError, match=f"The jar {broken} is not a zip file: fetch it again."):
        _driver_in([broken])
