"""Results as tables, sentences and plots."""
