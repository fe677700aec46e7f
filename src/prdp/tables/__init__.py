"""The entry points: tables, groups, joins, links, graphs and mechanisms of the caller's own."""
