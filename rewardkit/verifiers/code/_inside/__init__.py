"""What runs inside the sandbox: the standard library and siblings only."""
