"""Typed rows: what they are, what they say of entities (write, complete, delete), their ids, and what is kept of them."""
