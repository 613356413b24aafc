"""Graders for the tests of the benchmarks; a spawned process imports them from here."""

import os

from benchmarks._graders import Grade


def obedient():
    """Builds a grader that hangs, dies, raises or passes, as the completion says."""

    def grade(completion, reference):
        if completion == "hang":
            while True:
                pass
        if completion == "die":
            os._exit(3)
        if completion == "raise":
            raise ValueError
        return Grade(True)

    return grade
