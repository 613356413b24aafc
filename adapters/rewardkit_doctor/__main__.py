"""Runs `rewardkit-doctor` as `python -m rewardkit_doctor`."""

from rewardkit_doctor import main

main()
