"""External Blobs: which URIs a policy allows, and how the URIs of an operation are resolved.

    "s3://media/a.png" ──policy──▶ refused, or approved ──looked for──▶ unavailable, or there
                                                                          │ mutate, append, merge: the bytes are copied in
                                                                          │ overwrite: the reference is kept

`policy` says which URIs may be given, `settling` looks for what they name and fetches it, `cells` knows columns of Blobs. What is
stored is said in `omnigraph.model.blobs`. Nothing here follows a reference that is stored: reading a graph never leaves it.
"""
