"""Demonstrations that run on two CPU cores, each one command."""
