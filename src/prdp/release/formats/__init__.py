"""Tables of answers as files for people: HTML, Markdown, LaTeX, spreadsheets; no key can harm a reader."""
