"""From what was applied to what is wanted.

live            graphs as they are, through the service
differences     desired against applied: changes, and what each is waiting for
recovery        what a killed apply left behind: rolled forward or given up, by observation
outputs         what commands print as JSON
session         the beginning of every command: configuration, lock, ledger, sweep
settling        the end of a command that has published
planning        validate, plan and approve
observing       status, refresh, import
apply           apply
deploying       the same for a configuration that was sent to a server, under an id
operations      plans and deployments, as they are asked for through the door
unlocking       force-unlock
"""
