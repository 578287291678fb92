"""Processes on this machine: runners, warm spares and workers are started, watched, woken and ended here.

Law: knows processes and where their files are, not what jobs are for; implements control.ports.launcher.Launcher and Wake.
"""
