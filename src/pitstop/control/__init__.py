"""The brain: the life of a job as one table, and the loop that brings the world to it.

Law: ``machine`` is pure (a job and an event in, a job and actions out); ``controller`` observes, decides, writes,
acts, in that order, so that a crash between any two steps is repaired by running again.
"""
