"""The two jobs of the tutorial on Kubernetes (docs/kubernetes.md): both log the transactions that are put into a map."""

import pitstop as ps


def logged(version: str) -> ps.Pipeline:
    pipeline = ps.Pipeline()
    pipeline.read_from(ps.sources.map_journal("transaction"), name="Transactions").filter("kind = 'ADDED'").write_to(
        ps.sinks.logger(f"[{version}] transaction:'{{key}}' payload:'{{new_value}}'"), name="Log Transactions"
    )
    return pipeline


@ps.job()
def JobV1() -> ps.Pipeline:
    return logged("Job V1")


@ps.job()
def JobV2() -> ps.Pipeline:
    return logged("Job V2")
