#!/bin/sh
# What a container runs. Without arguments: the cluster that OMNIGRAPH_CLUSTER names, by its policies. With arguments: what they
# say, as `omnigraph serve` takes it (graphs, --read-only, --workers N, …). Exit code 64: nothing says what to serve.
set -eu
export OMNIGRAPH_BIND="${OMNIGRAPH_BIND:-0.0.0.0:8080}"
if [ "$#" -gt 0 ]; then
    exec omnigraph serve --log-format json "$@"
fi
if [ -z "${OMNIGRAPH_CLUSTER:-}" ]; then
    echo "error: OMNIGRAPH_CLUSTER is not set: name the folder or the s3:// address of a cluster, or give graphs as arguments" >&2
    exit 64
fi
exec omnigraph-server --cluster "$OMNIGRAPH_CLUSTER" --log-format json
