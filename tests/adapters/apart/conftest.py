"""What runs in environments of their own is run there, and imported nowhere else."""

collect_ignore_glob = ["*_run.py"]
