"""Commits and what they rest on: lineage, refs, manifests, plans, and the publisher that moves a branch."""
