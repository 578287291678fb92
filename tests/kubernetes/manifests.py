"""Resources of ours, in as few words as they differ by."""

from __future__ import annotations

VERSION = "hazelcast.com/v1alpha1"


def made(kind, resource, /, **spec):
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": resource}, "spec": spec}


def cluster_of(resource="hazelcast", /, **spec):
    return made("Hazelcast", resource, **spec)


def job(resource="transaction-v1", /, **spec):
    return made("JetJob", resource, **{"hazelcastResourceName": "hazelcast", "jarName": "jobs.zip"} | spec)


def snapshot(resource="snapshot-transaction", /, **spec):
    return made("JetJobSnapshot", resource, **{"jetJobResourceName": "transaction-v1"} | spec)


def a_map(resource="transaction", /, **spec):
    return made("Map", resource, **{"hazelcastResourceName": "hazelcast"} | spec)
