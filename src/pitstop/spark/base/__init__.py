"""The basis of every phase of the engine: session, names of columns, errors as sentences, the facts that a run is given."""
