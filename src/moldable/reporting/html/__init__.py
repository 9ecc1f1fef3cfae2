"""Reports: one HTML file with text, tables and figures, without scripts and other files."""
