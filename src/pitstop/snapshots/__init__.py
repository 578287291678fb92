"""Named snapshots: the layout of Spark's checkpoint as files, manifests, export, verification.

Law: files and values only; no Spark, no store. What is written here must be read by later releases.
"""
