"""Seeded simulators of two providers of vehicle positions: Alpha (files) and Beta (HTTP)."""
