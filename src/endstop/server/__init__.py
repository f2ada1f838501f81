"""The server: chat over SSE, runs, reviews, settings and trees, for a page and for other programs."""
