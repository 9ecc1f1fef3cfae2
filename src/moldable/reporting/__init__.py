"""How do results look: tables and sentences for people, one plot per file."""
