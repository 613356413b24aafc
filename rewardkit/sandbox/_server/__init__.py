"""What runs in the fork server: the standard library and siblings only."""
