"""The command line: Jet's commands, options and layouts. Thin: parse, call the service, show."""
