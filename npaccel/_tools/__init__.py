"""The command ``npaccel``, the notebook magic, the support page.

`cli` has the commands; `info` tells of the installation; `commands` has those that run a script:
`run_script` with functions decorated (`decorate`), `doctor` after a trial of those that take long
(`profile_calls`, `trial`). Read `cli` first.
"""
