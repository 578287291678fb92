"""From a snapshot to a checkpoint that a new plan goes on with. restore.py tells the three ways and does them, top down."""
