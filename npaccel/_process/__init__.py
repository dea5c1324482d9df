"""State of the whole process: forks, signals, threads, late imports.

`fork` has forks wait for npaccel's locks and renews them in the child; `signals` keeps imports
whole and lets exceptions of signal handlers through; `imports` imports the compiler, all of it or
nothing; `thread_pool` runs work in threads; `progress` shows that something compiles; `environment`
has the environment variables; `logs` the loggers of the stages. No other package of npaccel is
imported here. Read `fork` first.
"""
