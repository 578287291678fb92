"""The output of jobs in files and maps, as far as it may have to be withdrawn."""
