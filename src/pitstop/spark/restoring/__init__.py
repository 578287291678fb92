"""From a snapshot to a checkpoint that a new plan goes on with."""
