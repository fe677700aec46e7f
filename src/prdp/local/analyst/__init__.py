"""The analyst's side: studies, collectors and estimates."""
