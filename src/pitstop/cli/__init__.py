"""The command line: Jet's commands, options and layouts (jet.md §5). Thin: parse, call the service, show."""
