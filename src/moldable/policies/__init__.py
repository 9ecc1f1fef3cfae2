"""How many servers does an arriving job get? Rules that look at its class and the idle servers."""
