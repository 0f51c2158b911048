"""Requests, results and errors as they travel: typed structs for JSON, both directions.

Servers encode them, clients decode them, and the OpenAPI document is generated from them. Two kinds of optional members are told
apart, because programs compare answers member by member: `X | None` is always there and may be null, `X | UnsetType` is left out
when there is nothing to say.
"""
