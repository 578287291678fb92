"""State as rows: its encoding, and the state that the operators of a checkpoint and the stages of a snapshot hold."""
