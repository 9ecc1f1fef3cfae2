"""Side by side with real peers, in one run: `make bench`."""
