"""Freeing space, and checking that nothing is missing: retention, reclaim, verify."""
