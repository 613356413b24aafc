"""`python -m rewardkit`: the command line, for launchers that start modules."""

from rewardkit.cli import main

main()
