"""The control plane of a cluster: what is wanted (`cluster.yaml` and its files), what was applied (the ledger), the way between.

    diagnostics     every code that a command may report, what it means and what to do
    yaml_text       YAML without surprises: duplicate keys and aliases are refused
    config          cluster.yaml, read strictly; several problems at once
    addresses       graph.people, schema.people, query.people.find, policy.team, provider.embedding.main
    digests         what identifies the content of a resource
    desired         cluster.yaml with the files it names: resources, digests, dependencies
    checks          do schemas, queries and policies make sense?

    layout          where everything lies below the storage root
    ledger          state.json: what was applied
    records         the lock, sidecars and approvals
    store           reads and writes all of these, by conditional puts

    live            graphs as they are, through the service
    differences     desired against applied: changes, and what each is waiting for
    recovery        what a killed apply left behind: rolled forward or given up, by observation
    session         the beginning of every command: configuration, lock, ledger, sweep
    planning        plan and approve
    applying        apply
    observing       status, refresh, import
    unlocking       force-unlock
    serving         what a server needs of the applied revision, and why it may not serve
    outputs         what commands print as JSON

The ledger is the publish point: it is replaced under the condition that nobody else has replaced it, and everything it refers to
is written before. Servers read the ledger and the payloads it names, never `cluster.yaml`.
"""
