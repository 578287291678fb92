"""Stories of jobs of a real server: failures, cancels, locks, clock steps and updates that go wrong, against plain Python."""
