"""Verbs and reads that every door shares.

Law: writes wishes and reads facts; never acts on a process or a checkpoint itself.
"""
