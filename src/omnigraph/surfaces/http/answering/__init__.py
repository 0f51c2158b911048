"""Answers as they are sent: encoded, packed, whole or while they are made."""
