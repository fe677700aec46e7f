"""The project file, prdp.toml: found, read, checked, and opened."""
