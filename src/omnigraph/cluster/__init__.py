"""The control plane of a cluster: what is wanted (`cluster.yaml` and its files), what was applied (the ledger), the way between.

    config      what is wanted: cluster.yaml and the files it names, checked; addresses, digests, diagnostics
    ledger      what was applied: the ledger, the lock and other records, and how they are read and written
    applying    from one to the other: plan, approve, apply and its recovery; status, refresh, import, force-unlock
    serving     what a server needs of the applied revision, and what may be changed without the cluster

A room imports only those above it. The ledger is the publish point: it is replaced under the condition that nobody else has
replaced it, and everything it refers to is written before. Servers read the ledger and the payloads it names, never
`cluster.yaml`.
"""
