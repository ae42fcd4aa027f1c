"""System prompts of the joyvl dialect, one text file per persona."""
