"""What runs inside the sandbox: SWI-Prolog in the fork server's own process, and its keeper."""
