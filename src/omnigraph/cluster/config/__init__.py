"""What is wanted.

diagnostics     every code that a command may report, what it means and what to do
yaml_text       YAML without surprises: duplicate keys and aliases are refused
files           where it is read from: a folder, or what was sent
cluster_yaml    cluster.yaml, read strictly; several problems at once
addresses       graph.people, schema.people, query.people.find, policy.team, provider.embedding.main
digests         what identifies the content of a resource
desired         cluster.yaml with the files it names: resources, digests, dependencies
checks          do schemas, queries and policies make sense?
"""
