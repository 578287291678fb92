"""The reconcilers, one for each kind of resource: look, decide (operator.jobs and the like), act, and report in the status.

Each function can be called at any time and any number of times: it depends only on the present state.
"""
