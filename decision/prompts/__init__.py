"""System prompts, one folder per dialect."""
