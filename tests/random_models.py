"""Models at random that say different things to different sentences."""

import numpy as np


def vary(model, seed):
    """Gives a model weights that are the same on every backend, and returns it.

    As they are initialized, the weights make a model that repeats one token, whatever the source;
    that would show little of a search.
    """
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        mean = 1.0 if variable.path.endswith("gamma") else 0.0
        variable.assign(rng.normal(mean, 0.5, variable.shape).astype("float32"))
    return model


def offset_logits(model, offsets):
    """Adds constants to the logits of ids, and returns the model.

    The last component of the decoder's output is made 1 whatever comes in, and that of an output
    vector the constant. So a model at random can be made to end, or to say no pad or bos.
    """
    norm = model.decoder.final_norm
    if not model.config.norm_first:
        norm = model.decoder.layers[-1].feed_forward_residual.norm
    for variable, last in ((norm.gamma, 0.0), (norm.beta, 1.0)):
        value = np.array(variable)
        value[-1] = last
        variable.assign(value)
    matrix = np.array(model.output_embedding.embeddings)
    matrix[:, -1] = [offsets.get(i, 0.0) for i in range(len(matrix))]
    model.output_embedding.embeddings.assign(matrix)
    return model
