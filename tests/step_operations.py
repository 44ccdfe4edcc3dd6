"""Counts the operations that a step of a search executes, in the graph of a compiled search."""

import collections

# What is no work: names, and what the executor does without a kernel.
_NOTHING = {"Const", "Identity", "NoOp", "Placeholder", "StopGradient"}


def step_operations(function):
    """Counts by type what a step executes, of operations that its results depend on.

    Args:
        function: A concrete function that searches; its innermost loop is that of the steps.

    Returns:
        A `Counter`. What has constant inputs alone is folded before a graph runs, and not counted.
    """
    graph = function.graph.as_graph_def()
    library = {one.signature.name: one for one in graph.library.function}
    body = library[_innermost_loop(graph.node, library)]
    nodes = {node.name: node for node in body.node_def}
    constant = set()
    for node in body.node_def:  # In the order in which they were made, inputs first.
        inputs = _inputs(node)
        if node.op == "Const" or (inputs and constant.issuperset(inputs)):
            constant.add(node.name)
    needed = [name.split(":")[0] for name in (*body.ret.values(), *body.control_ret.values())]
    seen = set()
    while needed:
        name = needed.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            needed += _inputs(nodes[name])
    counted = (nodes[name].op for name in seen - constant)
    return collections.Counter(op for op in counted if op not in _NOTHING)


def _inputs(node):
    return [name.lstrip("^").split(":")[0] for name in node.input]


def _innermost_loop(nodes, library):
    found = None
    for node in nodes:
        if node.op in ("While", "StatelessWhile"):
            name = node.attr["body"].func.name
            found = _innermost_loop(library[name].node_def, library) or name
        elif node.op.endswith("PartitionedCall"):
            function = library[node.attr["f"].func.name]
            found = _innermost_loop(function.node_def, library) or found
    return found
