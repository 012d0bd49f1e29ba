"""Checks the structure of a submission and, with --run, scores it and writes results.json.

python validate_submission.py --submission submissions/my-method [--run] [--data RELEASE]

The release is the one in config.json next to this script unless --data names another.
"""

import argparse
import ast
import json
import os
import subprocess
import sys

from eval_submission import metadata, metadata_problems

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ("method.py", "metadata.yaml", "requirements.txt")


def problems(folder: str) -> list:
    """Return the problems, one line each; nothing of the submission is executed."""
    found = [f"{f} is missing" for f in FILES if not os.path.isfile(os.path.join(folder, f))]
    path = os.path.join(folder, "method.py")
    if os.path.isfile(path):
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read(), path)
        except SyntaxError as error:
            return [*found, f"method.py, line {error.lineno}: {error.msg}"]
        ranks = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "rank"]
        if not ranks:
            found.append("method.py has no function rank(query, corpus)")
        elif len(ranks[-1].args.args) != 2:
            found.append("rank must take two arguments, (query, corpus)")
    if os.path.isfile(os.path.join(folder, "metadata.yaml")):
        found += metadata_problems(metadata(folder))
    return found


def release() -> str:
    """Return the release that config.json names; empty if it names none."""
    path = os.path.join(HERE, "config.json")
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return str(json.load(file).get("release") or "")


def main() -> None:
    """Print one line per problem and exit with 1; exit with 0 if there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submission", required=True)
    parser.add_argument("--run", action="store_true", help="also score it")
    parser.add_argument("--data", help="a release folder, or its name on the Hub with @TAG (default: see config.json)")
    args = parser.parse_args()
    found, data = problems(args.submission), args.data or release()
    if args.run and not data:
        found.append('config.json names no release: give one with --data, or write {"release": "..."} into it')
    if found:
        print("\n".join(found), file=sys.stderr)
        sys.exit(1)
    print("structure: ok")
    if args.run:
        script = os.path.join(HERE, "eval_submission.py")
        sys.exit(subprocess.call([sys.executable, script, "--submission", args.submission, "--data", data]))


if __name__ == "__main__":
    main()
