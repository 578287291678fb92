"""Verbs and reads that every door shares.

The law of this package: it writes requests and reads facts. It starts and ends no run, and writes no checkpoint. Work that needs
user code or Spark goes to workers. Snapshots, which belong to no run, are deleted and edited here.
"""
