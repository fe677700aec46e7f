"""Parts of any HTTP server: connections and rates, bodies and headers, the process with its bounded log."""
