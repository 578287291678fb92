"""The engine: runs pipelines on Spark Structured Streaming. Only this package, and the roots that start it, import pyspark.

Its phases, each of which knows only those after it (kept by import-linter):

run         one run of a job: start its query, look at it, stop it
starting    where a run starts; rehearsing a new version beside the old one
restoring   from a snapshot to a checkpoint that a new plan goes on with
running     the query while it runs: its epochs, its progress, its idle stages
lowering    from a pipeline to Spark DataFrames, and to its plan
state       saved state as rows; beside it sinks and sources, which know nothing of one another
base        the session, names of columns, errors, what a run is told of the world
internals   what we use of Spark without its promise

It knows pipelines, plans and snapshots, and nothing of services, doors or stores: what it needs of those is handed in
(base/environment.py).
"""
