"""System prompts of the generic dialect, one text file per persona."""
