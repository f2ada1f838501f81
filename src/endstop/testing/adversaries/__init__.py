"""Models and tools that do what must not hurt: for tests of anything that drives a model."""
