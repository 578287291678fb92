"""Small tools that know no job: clock, ids, canonical JSON, durations, waking.

Law: whatever is here could be a library of its own. It imports nothing of Pitstop but errors.
"""
