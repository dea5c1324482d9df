"""Scripts of the user's: run with functions compiled, or watched to find those worth it."""
