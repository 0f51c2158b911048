"""The reader of JSON lines, strict and compatible."""
