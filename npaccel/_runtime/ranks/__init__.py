"""Agreement and checkpoints of programs of several ranks.

`agreement` compares what ranks are about to do, and gathers what they say; `checkpoints` writes and
reads numbered checkpoints. In a program of one process both do the same without sending anything.
Read `agreement` first.
"""
