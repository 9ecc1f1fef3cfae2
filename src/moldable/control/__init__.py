"""The best that any choice of widths can do at a given number of servers, and how to come near."""
