"""The HTTP server: from a request to an acknowledgement."""
