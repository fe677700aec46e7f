"""What comes back from an engine, and the public grids that it lies on."""
