"""The subcommands of placebench, one a file: ``add(parsers)`` declares, ``run(args)`` does."""
