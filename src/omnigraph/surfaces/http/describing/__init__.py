"""The routes as an OpenAPI document, and as a page for people."""
