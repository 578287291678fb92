"""Start and end processes on this machine: runners, warm spares, and the Java they need.

Law: starts, watches and ends processes; decides nothing about jobs. Implements control.ports.Launcher and service.Workers.
"""
