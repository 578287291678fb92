"""All that we use of Spark and that Spark does not promise: its Java objects, its classes by name, what it calls things.

One module a subject, one function or name a use. No other module touches such things (tests/unit/spark/test_private_names.py),
and each function has a test in tests/spark/internals that says what Spark has changed when it fails.
"""
