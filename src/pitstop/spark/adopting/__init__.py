"""The adoption of a checkpoint of Spark: its state and places, in a snapshot from which a job goes on."""
