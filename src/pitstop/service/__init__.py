"""Verbs and reads that every door shares.

Law: writes wishes and reads facts. It starts and ends no run and writes no checkpoint; what needs user code or Spark is asked of
workers. Snapshots, which belong to no run, are deleted and edited here.
"""
