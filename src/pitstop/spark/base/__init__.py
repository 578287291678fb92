"""What every phase of the engine stands on: the session, names of columns, what a run is told of the world."""
