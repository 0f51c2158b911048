"""From what was given to typed rows: files, frames, records."""
