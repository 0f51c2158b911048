"""Bytes on a disk or in a bucket: places, durable effects, records, what others left there."""
