"""What is done about each resource: look, decide (operator.jobs and the like), act, and say so in its status.

Each function may be called at any time and any number of times: it depends on what is there now alone.
"""
