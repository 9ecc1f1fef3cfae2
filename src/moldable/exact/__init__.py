"""Exact answers: closed forms, Markov chains and their stationary distributions."""
