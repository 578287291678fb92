"""The judgement of ``pitstop adopt``: which operator and source of a checkpoint of Spark become which stage and source of a job.

Values only: facts of checkpoints, as the doctor reads them, go in, and decisions in words come out. Nothing here starts Spark.
"""
