"""Make the papers' graphs with TensorFlow 1.3.0, or check that they are what it makes.

python3.6 -m pip install --requirement requirements.txt
python3.6 make.py            # writes graphs/NAME.pb.xz and graphs/NAME.json
python3.6 make.py --check    # exit code 1 where one differs
"""

import argparse
import json
import lzma
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from recipes import RECIPES

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "graphs")
VERSION = "1.3.0"


def build(recipe):
    """Return (GraphDef, name of the training operation) of a recipe."""
    with tf.Graph().as_default() as graph:
        fetch = recipe.training(recipe.loss(), recipe.optimizer())
    return graph.as_graph_def(), fetch


def described(name, recipe, graph_def, fetch):
    """What ``NAME.json`` says."""
    return {
        "task": name,
        "paper": recipe.paper,
        "tensorflow": tf.__version__,
        "fetch": fetch,
        "operations": len(graph_def.node),
        "published_operations": recipe.published,
        "choices": list(recipe.choices),
    }


def written(graph_def):
    """A GraphDef as bytes that depend on nothing else."""
    return graph_def.SerializeToString(deterministic=True)


def paths(name):
    """Where the graph of a task and its description are."""
    return (os.path.join(FOLDER, name + suffix) for suffix in (".pb.xz", ".json"))


def make(name, graph, facts):
    """Write both files."""
    packed, description = paths(name)
    with lzma.open(packed, "wb", preset=6) as file:
        file.write(graph)
    with open(description, "w") as file:
        json.dump(facts, file, indent=1)
        file.write("\n")
    return "%.2f MB, packed %.2f MB" % (len(graph) / 1e6, os.path.getsize(packed) / 1e6)


def check(name, graph, facts):
    """Compare with both files; the packing may differ, what is packed may not."""
    packed, description = paths(name)
    with lzma.open(packed) as file:
        same = file.read() == graph
    with open(description) as file:
        return "same" if same and json.load(file) == facts else "DIFFERS"


def main():
    """Make or check all tasks, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="*", help="default: all of %s" % ", ".join(RECIPES))
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    if tf.__version__ != VERSION:
        sys.exit("this is TensorFlow %s; install %s" % (tf.__version__, VERSION))
    unknown = sorted(set(arguments.task) - set(RECIPES))
    if unknown:
        sys.exit("no task %s; known: %s" % (", ".join(unknown), ", ".join(RECIPES)))
    differ = False
    for name in arguments.task or RECIPES:
        start = time.time()
        recipe = RECIPES[name]
        graph_def, fetch = build(recipe)
        facts = described(name, recipe, graph_def, fetch)
        result = (check if arguments.check else make)(name, written(graph_def), facts)
        differ = differ or result == "DIFFERS"
        ratio = facts["operations"] / recipe.published
        line = "%s: %d operations, published %d, ratio %.3f; %s (%.0f s)"
        values = name, facts["operations"], recipe.published, ratio, result, time.time() - start
        print(line % values, flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
