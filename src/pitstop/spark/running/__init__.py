"""The one streaming query of a job while it runs: its epochs, its progress, its idle stages."""
