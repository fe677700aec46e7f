"""Who asks: studies, collectors and estimates."""
