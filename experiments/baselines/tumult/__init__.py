"""The slowly scaling samplers that Tumult Core ships, called in an environment of their own."""
