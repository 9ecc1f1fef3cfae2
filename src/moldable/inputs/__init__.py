"""How do people write down curves, regimes and workloads? Text and files in, values out."""
