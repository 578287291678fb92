"""A member of a cluster: a process that lends the cores of its machine to jobs through a Spark worker."""
