-- The fleet ingest as statements: two live sources into one map and one archive, each ping exactly once.
-- $alpha_dir, $beta_url and $archive stand for where these are; story.py puts them in.

CREATE OR REPLACE MAPPING alpha (vin VARCHAR, latitude DOUBLE, longitude DOUBLE, time DOUBLE)
TYPE CsvTail OPTIONS ('path' = '$alpha_dir');

CREATE OR REPLACE MAPPING beta (
    vin VARCHAR, latitude DOUBLE, longitude DOUBLE, time DOUBLE, sequence BIGINT, obd_codes ARRAY<VARCHAR>)
TYPE HttpPoll OPTIONS ('url' = '$beta_url', 'limit' = '200');

CREATE OR REPLACE MAPPING vehicles (
    __key VARCHAR, vin VARCHAR, latitude DOUBLE, longitude DOUBLE, time DOUBLE, obd_codes ARRAY<VARCHAR>, provider VARCHAR, ts TIMESTAMP)
TYPE IMap;

CREATE OR REPLACE MAPPING archive (
    vin VARCHAR, latitude DOUBLE, longitude DOUBLE, time DOUBLE, obd_codes ARRAY<VARCHAR>, provider VARCHAR, ts TIMESTAMP)
TYPE File OPTIONS ('path' = '$archive', 'format' = 'parquet');

CREATE OR REPLACE MAPPING saving TYPE Log OPTIONS ('template' = 'SAVING PING: {vin} {time!r}');

CREATE OR REPLACE VIEW pings AS
SELECT vin, latitude, longitude, time, CAST(array() AS ARRAY<STRING>) AS obd_codes, 'alpha' AS provider,
    timestamp_micros(CAST(time * 1e6 AS BIGINT)) AS ts
FROM alpha
UNION ALL
SELECT vin, latitude, longitude, time, obd_codes, 'beta', timestamp_micros(CAST(time * 1e6 AS BIGINT))
FROM beta;
