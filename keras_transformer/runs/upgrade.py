"""What `run.json` of earlier versions says, in today's terms."""

from typing import Any

# Options by the section and the name that they had, with those they have now.
_MOVED = {
    ("model", "label_smoothing"): ("training", "label_smoothing"),
    ("training", "learning_rate"): ("training", "learning_rate_factor"),
    ("training", "bleu_sentences"): ("validation", "bleu_sentences"),
    ("training", "bleu_tokenize"): ("validation", "bleu_tokenize"),
    ("training", "samples"): ("validation", "samples"),
}


def upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """Returns the content of a `run.json` as this version writes it.

    A run that names neither family nor task is a translation by a Transformer.

    Args:
        content: The content, of this version or an earlier one.

    Example:
        >>> upgraded({"config": {"training": {"learning_rate": 0.5}}})["config"]["training"]
        {'learning_rate_factor': 0.5}
    """
    if "task" in content:
        return content
    config = {name: dict(section) for name, section in content["config"].items()}
    for (section, name), (new_section, new_name) in _MOVED.items():
        if name in config.get(section, {}):
            config.setdefault(new_section, {})[new_name] = config[section].pop(name)
    if config.get("training", {}).get("early_stopping") == "bleu":
        config["training"]["early_stopping"] = "score"
    # There was no other.
    config.setdefault("tokenizer", {}).setdefault("normalization", "nmt_nfkc")
    if config.get("decoding", {}).get("seed") == 0:
        # The default, for which there is None today.
        config["decoding"]["seed"] = None
    return {"family": "transformer", "task": "translation", **content, "config": config}
