"""State as rows: how it is encoded, and what the operators of a checkpoint and the stages of a snapshot hold."""
