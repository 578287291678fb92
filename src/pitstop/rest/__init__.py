"""The REST door: HTTP in, service calls out. Law: no rule of a job lives here."""
