"""Brokers of Kafka for tests, as processes of their own."""
