"""State as rows: how it is encoded, what saved operators hold, what a snapshot's stages hold."""
