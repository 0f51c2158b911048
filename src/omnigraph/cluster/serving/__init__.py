"""What others need of the applied revision.

managed         graphs that belong to a cluster, and the one schema that their branches may get by hand
revision        what a server serves, and why it may not
"""
