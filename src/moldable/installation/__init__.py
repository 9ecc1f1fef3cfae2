"""What is installed on this machine, and what of it works."""
