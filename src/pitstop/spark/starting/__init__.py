"""The start of a run, and what can be done before it: warming up, a rehearsal, a query that waits at a gate."""
