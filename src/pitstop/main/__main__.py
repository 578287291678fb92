"""``python -m pitstop.main`` is the command ``pitstop``."""

from pitstop.main.app import main

main()
