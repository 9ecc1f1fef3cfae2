"""The paper's optimum: frontier, shares of widths, reservations, certificate."""
