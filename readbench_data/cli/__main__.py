"""``python -m readbench_data.cli``: the ``readbench`` command."""

from readbench_data.cli.main import main

main()
