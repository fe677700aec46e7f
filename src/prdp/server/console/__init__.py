"""The web console: pages for people, rendered on the server, over the same routes as programs use."""
