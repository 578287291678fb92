"""What every phase of the engine stands on: session, names of columns, errors as sentences, what a run is told of the world."""
