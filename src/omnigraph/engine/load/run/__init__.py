"""A load from request to commit: runners, quarantine, the verdict."""
