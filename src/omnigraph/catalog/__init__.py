"""What a schema means: its shape, its stable identities, name resolution, type checks, keys and migrations. No storage."""
