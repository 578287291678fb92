"""All that we use of Spark and that Spark does not promise: its Java objects, its classes by name, the names that it uses.

One module for each subject, one function or name for each use. No other module touches such things
(tests/unit/spark/test_private_names.py). Each function has a test in tests/spark/internals that says what Spark has changed when
it fails.
"""
