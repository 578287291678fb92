"""What jobs have written into files and maps, as far as it may have to be withdrawn."""
