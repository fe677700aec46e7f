"""The PostgreSQL protocol: psql, drivers and BI tools ask the questions that the routes answer."""
