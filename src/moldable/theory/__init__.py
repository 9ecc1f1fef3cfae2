"""The fluid limit, and the paper's bounds for a finite cluster."""
