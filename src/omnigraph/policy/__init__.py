"""May this caller do this? The port that the service asks, and whoever answers behind it."""
