"""From a pipeline's nodes to Spark DataFrames, a file for each kind of stage, and from there to a plan."""
