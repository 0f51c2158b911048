"""The HTTP server: requests become operations, what operations give becomes answers.

    request → route (404, 405) → token (401) → graph (400, 404) → handler: body and headers (400, 413, 415)
            → the door: policy (403), admission (429), the operation itself → answer

`application` is that pipeline, `handlers` has a module per part of the graph, `routes` the table of both. `wire` has the bodies.
"""
