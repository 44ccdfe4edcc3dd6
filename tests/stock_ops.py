"""The operations of an export, and those that the oldest supported server runs."""

from pathlib import Path

from tensorflow.core.protobuf import saved_model_pb2

LINES = (Path(__file__).parent / "export/stock_ops.txt").read_text("utf-8").splitlines()
# The attributes of each operation.
STOCK = {
    operation: attributes
    for operation, *attributes in map(str.split, LINES)
    if not operation.startswith("#")
}


def nodes_of(path):
    """The nodes of an export's graph and of its functions, but for calls by a function's name."""
    saved = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    functions = {function.signature.name for function in graph.library.function}
    nodes = [*graph.node, *(n for function in graph.library.function for n in function.node_def)]
    return [node for node in nodes if node.op not in functions]
