"""Getting a new version ready beside the old one: a rehearsal, and a query that waits at a gate."""
