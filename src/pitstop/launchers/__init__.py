"""Start and end processes on this machine: runners, warm spares, and the Java they need.

Law: knows processes, not jobs; implements control.ports.Launcher.
"""
