"""The process of one job: claims its lease, runs the engine, obeys commands, reports what it sees."""
