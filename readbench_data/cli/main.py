"""The command group, its errors and its exit codes.

0 success; 1 a check failed, data is malformed or a named mirror is absent; 2 wrong usage. An error is one line on
stderr with what to do; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

COMMANDS = {
    "sources": "sources",
    "source": "source",
    "settings": "settings",
    "build": "build",
    "audit": "audit",
    "composition": "composition",
    "diff": "diff",
    "verify": "verify",
    "publish": "publish",
    "pull": "pull",
    "evaluate": "evaluate",
    "methods": "methods",
    "submission": "submission",
    "leaderboard": "evaluate",
    "sweep": "sweep",
    "ui": "ui",
    "doctor": "doctor",
}


HELP = ["-h", "--help"]


class LazyGroup(click.Group):
    """A group that imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"readbench_data.cli.{COMMANDS[name]}"), name)
        command.context_settings.setdefault(
            "help_option_names", HELP
        )  # also when the command is used without the group
        return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": HELP, "max_content_width": 110},
    epilog="Start with `readbench build`: it builds a small release from generated miniatures, offline, in a minute. "
    "Then run `readbench build --mirror DIR` on original files.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="readbench-data", prog_name="readbench")
def cli(debug: bool) -> None:
    """Rebuild, audit and evaluate READ-Bench: which past cases had the same fault?"""
    if debug:
        os.environ["READBENCH_DEBUG"] = "1"


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the ``readbench`` command."""
    from readbench_data.errors import NoData, ReadbenchError, UsageError

    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--debug" in words:  # accepted anywhere on the line
        words.remove("--debug")
        os.environ["READBENCH_DEBUG"] = "1"
    try:
        code = cli.main(args=words, prog_name="readbench", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        _print_error("stopped; run the same command again to resume")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UsageError as error:
        _fail(error, 2)
    except (ReadbenchError, NoData) as error:
        _fail(error, 1)
    except OSError as error:
        _fail(error, 1, _explain(error))
    except Exception as error:
        _fail(error, 1, f"unexpected {type(error).__name__}: {error}: please report it; --debug shows where")
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: OSError) -> str:
    """Return what went wrong with a file, and what to do."""
    where = f"{error.filename}: " if error.filename else ""
    advice = {
        28: "free some space and run the same command again",
        30: "choose another --data folder",
        13: "choose another --data folder, or change its permissions",
        1: "choose another --data folder, or change its permissions",
    }.get(error.errno or 0, "run again with --debug to see where")
    return f"{where}{(error.strerror or str(error)).lower()}: {advice}"


def _fail(error: BaseException, code: int, text: str | None = None) -> Any:
    if os.environ.get("READBENCH_DEBUG"):
        raise error
    _print_error(" ".join((text or str(error)).split()))
    sys.exit(code)


def _print_error(text: str) -> None:
    click.echo(f"readbench: {text}", err=True)
