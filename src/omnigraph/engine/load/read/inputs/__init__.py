"""What was given to load or delete: paths and their names, first bytes, frames, records; nothing of it is parsed yet."""
