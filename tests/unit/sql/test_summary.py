"""What the audit notes of a statement."""

import pytest

from pitstop.sql.parsing import parse
from pitstop.sql.summary import summary

SAID = {
    "ALTER JOB counts OPTIONS ('snapshotIntervalMillis' = '250') RESUME": "ALTER JOB counts OPTIONS RESUME",
    "alter job counts suspend": "ALTER JOB counts SUSPEND",
    "DROP JOB IF EXISTS counts WITH SNAPSHOT monday": "DROP JOB counts WITH SNAPSHOT monday",
    "CREATE JOB counts AS INSERT INTO log SELECT 'secret' FROM numbers": "CREATE JOB counts",
    "UPDATE JOB counts AS INSERT INTO log SELECT 'secret' FROM numbers": "UPDATE JOB counts",
    "CHECK JOB counts AS INSERT INTO log SELECT 'secret' FROM numbers": "CHECK JOB counts",
    "EXPLAIN JOB counts": "EXPLAIN JOB counts",
    "DESCRIBE JOB counts": "DESCRIBE JOB counts",
    "CREATE OR REPLACE SNAPSHOT monday FOR JOB counts": "CREATE SNAPSHOT monday FOR JOB counts",
    "DROP SNAPSHOT monday": "DROP SNAPSHOT monday",
    "CREATE MAPPING numbers TYPE Rate OPTIONS ('password' = 'secret')": "CREATE MAPPING numbers",
    "CREATE VIEW few AS SELECT 'secret' FROM numbers": "CREATE VIEW few",
    "DROP VIEW few": "DROP VIEW few",
    "DROP MAPPING numbers": "DROP MAPPING numbers",
    "SINK INTO ages VALUES ('secret', 3)": "SINK INTO ages",
    "WITH a AS (SELECT 1) SELECT * FROM a, numbers JOIN others ON a.x = 'secret'": "SELECT FROM numbers, others",
    "SELECT 'secret'": "SELECT",
    "SHOW JOBS": "SHOW JOBS",
}


@pytest.mark.parametrize("text", SAID)
def test_its_verb_and_its_object_and_no_value(text):
    (statement,) = parse(text)
    assert summary(statement) == SAID[text]
