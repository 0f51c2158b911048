"""What was applied.

layout          where everything lies below the storage root
records         the lock, sidecars and approvals
state           state.json: the ledger, as a value
store           reads and writes all of these, by conditional puts
"""
