"""Checks the structure of a submission and, with --run, scores it and writes results.json.

python validate_submission.py --submission submissions/my-method [--run] [--data RELEASE]

The release is the one in config.json next to this script unless --data names another.
"""

import argparse
import os
import subprocess
import sys

from checks import metadata, problems, stated
from eval_submission import HERE, config


def main() -> None:
    """Print one line per problem and exit with 1; exit with 0 if there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submission", required=True)
    parser.add_argument("--run", action="store_true", help="also score it")
    parser.add_argument("--data", help="a release folder, or its name on the Hub with @TAG (default: see config.json)")
    args = parser.parse_args()
    known = config()
    found, data = problems(args.submission, known["reserved"]), args.data or known["release"]
    if args.run and not data:
        found.append('config.json names no release: give one with --data, or write {"release": "..."} into it')
    if found:
        print("\n".join(found), file=sys.stderr)
        sys.exit(1)
    meant = stated(metadata(args.submission))
    print("structure: ok" + (f" ({meant['note']})" if meant["note"] else ""))
    if args.run:
        script = os.path.join(HERE, "eval_submission.py")
        sys.exit(subprocess.call([sys.executable, script, "--submission", args.submission, "--data", data]))


if __name__ == "__main__":
    main()
