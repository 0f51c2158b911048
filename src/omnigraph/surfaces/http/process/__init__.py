"""The process that serves: how it is started, where it listens, what it allows, how it stops."""
