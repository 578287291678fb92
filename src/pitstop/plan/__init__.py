"""From a pipeline to a plan, and the one judge of an update: what changed between two plans.

Law: pure functions on values. A plan travels as JSON; Spark types in it are text.
"""
