"""The engine: the only package that imports pyspark. It lowers a plan, runs epochs, keeps state.

Law: it knows pipelines, plans and snapshots, and nothing of services, doors or stores; what it needs
of those is handed in (see ``environment``).
"""
