"""Benchmarks. `make bench` runs them all and records the results, with machine and date, in `benchmarks/results`."""
