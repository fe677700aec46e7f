"""The HTTP server: from a connection to an acknowledgement."""
