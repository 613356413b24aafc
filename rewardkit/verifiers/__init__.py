"""One package for each verifier. Import them from `rewardkit`."""
