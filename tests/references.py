"""The paper's formulas in plain NumPy and float64, written from its text and not from the package.

`parts` is everywhere a function that gives a weight by its name: the place of the sub-layer, and
the kind of weight, as in `parts("encoder/layer_0/self_attention", "query_key_value/kernel")`.
"""

import math

import numpy as np


def to_numpy(tensor):
    """Converts a tensor of any float dtype to float32, and of any other dtype as it is."""
    import keras

    array = keras.ops.convert_to_numpy(tensor)
    return array if array.dtype.kind in "biu" else array.astype("float32")


def weights_by_name(layer):
    """Returns `parts` of a built layer or model.

    Normalizations are numbered through all of a process, so their number is left out.
    """
    values = {v.path: to_numpy(v).astype("float64") for v in layer.weights}

    def parts(place, kind):
        found = [
            value
            for path, value in values.items()
            if f"/{place}/" in f"/{path}" and path.endswith(f"/{kind}")
        ]
        assert len(found) == 1, f"{place} {kind}: {sorted(values)}"
        return found[0]

    return parts


def softmax(logits):
    """The softmax of the last axis."""
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def attention(query, key, value, mask=None):
    """Equation 1 for one head: `[length, d]` each, mask `[length, memory_length]`."""
    logits = query @ key.T / math.sqrt(query.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, -1e30)
    weights = softmax(logits)
    return weights @ value, weights


def multi_head_attention(x, memory, wq, wk, wv, wo, num_heads, mask=None):
    """Section 3.2.2 for a batch: MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O.

    Head i has the columns of W^Q, W^K and W^V from i d to (i + 1) d. The mask is broadcastable to
    `[batch, heads, length, memory_length]`.
    """
    shape = (len(x), num_heads, x.shape[1], memory.shape[1])
    mask = np.broadcast_to(True if mask is None else mask, shape)

    def columns(matrix, head):
        width = matrix.shape[1] // num_heads
        return matrix[:, head * width : (head + 1) * width]

    outputs, weights = [], np.empty(shape)
    for sentence in range(len(x)):
        heads = []
        for head in range(num_heads):
            attended, weights[sentence, head] = attention(
                x[sentence] @ columns(wq, head),
                memory[sentence] @ columns(wk, head),
                memory[sentence] @ columns(wv, head),
                mask[sentence, head],
            )
            heads.append(attended)
        outputs.append(np.concatenate(heads, -1) @ wo)
    return np.stack(outputs), weights


def self_attention(x, parts, place, num_heads, key_dim, mask=None):
    """Multi-head attention of x to itself; W^Q, W^K and W^V lie side by side."""
    fused = parts(place, "query_key_value/kernel")
    inner = num_heads * key_dim
    wq, wk, wv = fused[:, :inner], fused[:, inner : 2 * inner], fused[:, 2 * inner :]
    return multi_head_attention(x, x, wq, wk, wv, parts(place, "output/kernel"), num_heads, mask)


def cross_attention(x, memory, parts, place, num_heads, key_dim, mask=None):
    """Multi-head attention of x to the memory; W^K and W^V lie side by side."""
    fused, inner = parts(place, "key_value/kernel"), num_heads * key_dim
    wq, wk, wv = parts(place, "query/kernel"), fused[:, :inner], fused[:, inner:]
    wo = parts(place, "output/kernel")
    return multi_head_attention(x, memory, wq, wk, wv, wo, num_heads, mask)


def layer_norm(x, gamma, beta, epsilon=1e-6):
    """Normalizes the last axis to mean 0 and variance 1, then scales and shifts."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * gamma + beta


def norm_at(x, parts, place):
    """Layer normalization with the weights of a place."""
    return layer_norm(x, parts(place, "gamma"), parts(place, "beta"))


def feed_forward(x, parts, place):
    """Equation 2."""
    inner = x @ parts(place, "inner/kernel") + parts(place, "inner/bias")
    return np.maximum(0.0, inner) @ parts(place, "outer/kernel") + parts(place, "outer/bias")


def residual(x, sublayer, parts, place, norm_first):
    """LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x)) with pre-norm."""
    if norm_first:
        return x + sublayer(norm_at(x, parts, place))
    return norm_at(x + sublayer(x), parts, place)


def encoder_layer(x, parts, place, config, mask=None):
    """One encoder layer, without dropout; `place` is "" or ends with a slash."""
    heads, key_dim, pre = config.num_heads, config.head_key_dim, config.norm_first

    def attend(y):
        return self_attention(y, parts, f"{place}self_attention", heads, key_dim, mask)[0]

    def transform(y):
        return feed_forward(y, parts, f"{place}feed_forward")

    x = residual(x, attend, parts, f"{place}self_attention_residual", pre)
    return residual(x, transform, parts, f"{place}feed_forward_residual", pre)


def decoder_layer(x, memory, parts, place, config, mask=None, memory_mask=None):
    """One decoder layer, without dropout; `place` is "" or ends with a slash."""
    heads, key_dim, pre = config.num_heads, config.head_key_dim, config.norm_first

    def attend(y):
        return self_attention(y, parts, f"{place}self_attention", heads, key_dim, mask)[0]

    def attend_memory(y):
        at = f"{place}cross_attention"
        return cross_attention(y, memory, parts, at, heads, key_dim, memory_mask)[0]

    def transform(y):
        return feed_forward(y, parts, f"{place}feed_forward")

    x = residual(x, attend, parts, f"{place}self_attention_residual", pre)
    x = residual(x, attend_memory, parts, f"{place}cross_attention_residual", pre)
    return residual(x, transform, parts, f"{place}feed_forward_residual", pre)


def encoder(x, parts, place, config, mask=None):
    """The stack of encoder layers."""
    for layer in range(config.num_layers):
        x = encoder_layer(x, parts, f"{place}layer_{layer}/", config, mask)
    return norm_at(x, parts, f"{place}final_norm") if config.norm_first else x


def decoder(x, memory, parts, place, config, mask=None, memory_mask=None):
    """The stack of decoder layers."""
    for layer in range(config.num_layers):
        at = f"{place}layer_{layer}/"
        x = decoder_layer(x, memory, parts, at, config, mask, memory_mask)
    return norm_at(x, parts, f"{place}final_norm") if config.norm_first else x


def positional_encoding(position, d_model):
    """Section 3.5 for one position, in Python's own arithmetic."""
    row = []
    for pair in range(d_model // 2):
        angle = position / 10000.0 ** (2 * pair / d_model)
        row += [math.sin(angle), math.cos(angle)]
    return np.array(row)


def additive_score(s, h, place, w):
    """v^T tanh(W s + U h), Bahdanau et al.

    As all scores, of a query, a key, its place and the weights by name.
    """
    return np.tanh(s @ w["W/kernel"] + h @ w["U/kernel"]) @ w["v/kernel"][:, 0]


def dot_score(s, h, place, w):
    """s^T h, Luong et al."""
    return sum(s * h)


def general_score(s, h, place, w):
    """s^T W h, Luong et al."""
    return s @ (h @ w["W/kernel"])


def concat_score(s, h, place, w):
    """v^T tanh(W [s; h]), Luong et al."""
    whole = np.concatenate([w["W/kernel"], w["U/kernel"]])
    return np.tanh(np.concatenate([s, h]) @ whole) @ w["v/kernel"][:, 0]


def location_score(s, h, place, w):
    """The component of W s for the place, Luong et al."""
    return (s @ w["W/kernel"])[place]


def scaled_dot_score(s, h, place, w):
    """s^T h / sqrt(d), Equation 1."""
    return sum(s * h) / np.sqrt(len(s))


def cosine_score(s, h, place, w):
    """beta cos(s, h), Graves et al., with beta = softplus(w^T s + b)."""
    strength = np.log1p(np.exp(s @ w["strength/kernel"][:, 0] + w["strength/bias"][0]))
    return strength * sum(s * h) / np.sqrt(sum(s * s) * sum(h * h))


SCORES = {
    "additive": additive_score,
    "dot": dot_score,
    "general": general_score,
    "concat": concat_score,
    "location": location_score,
    "scaled_dot": scaled_dot_score,
    "cosine": cosine_score,
}


def band(length, before, after):
    """Which keys each query may see, pair by pair: those from i - before to i + after."""
    pairs = [[-before <= key - query <= after for key in range(length)] for query in range(length)]
    return np.array(pairs)


def transformer(source, target, parts, config, tables):
    """The logits of the whole model, Figure 1.

    `tables` has the embedding matrices "source", "target" and "output", and for learned positions
    "source_positions" and "target_positions".
    """

    def embedding_sum(ids, side):
        x = tables[side][ids] * math.sqrt(config.d_model)
        if config.positions == "sinusoidal":
            return x + [positional_encoding(i, config.d_model) for i in range(ids.shape[1])]
        if config.positions == "learned":
            return x + tables[f"{side}_positions"][: ids.shape[1]]
        return x

    memory_mask, target_mask = ((ids != 0)[:, None, None, :] for ids in (source, target))
    # Without a window, all of a sentence is near.
    before, after, past = np.inf, np.inf, np.inf
    if config.window is not None:
        before, after, past = config.window // 2, (config.window - 1) // 2, config.window - 1
    source_mask = memory_mask & band(source.shape[1], before, after)
    target_mask = target_mask & band(target.shape[1], past, 0)
    memory = encoder(embedding_sum(source, "source"), parts, "encoder/", config, source_mask)
    x = embedding_sum(target, "target")
    x = decoder(x, memory, parts, "decoder/", config, target_mask, memory_mask)
    return x @ tables["output"].T


def sigmoid(x):
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def recurrent_cell(kind, x, state, parts, place):
    """One step of a cell on a vector: the new state, of which the first part is the output.

    A GRU (Cho et al., 2014) as cuDNN has it: the reset gate comes after the product with the state.
    Gates lie side by side, z r h; of an LSTM (Hochreiter and Schmidhuber, 1997) i f c o.
    """
    kernel, recurrent = parts(place, "kernel"), parts(place, "recurrent_kernel")
    bias = parts(place, "bias")
    if kind == "gru":
        [h] = state
        xz, xr, xh = np.split(x @ kernel + bias[0], 3)
        hz, hr, hh = np.split(h @ recurrent + bias[1], 3)
        z, r = sigmoid(xz + hz), sigmoid(xr + hr)
        return (z * h + (1 - z) * np.tanh(xh + r * hh),)
    h, c = state
    i, f, new, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
    return sigmoid(o) * np.tanh(c), c


def annotations(x, parts, config):
    """What a bidirectional encoder says of a sentence without padding, `[length, m]`.

    Also what either direction of the last layer has as its last output.
    """
    for layer in range(config.num_layers):
        outputs = {}
        for direction, order in (("forward", 1), ("backward", -1)):
            place = f"encoder/layer_{layer}/{direction}_rnn/{config.cell}_cell"
            state = (np.zeros(config.encoder_units),) * (2 if config.cell == "lstm" else 1)
            outputs[direction] = []
            for vector in x[::order]:
                state = recurrent_cell(config.cell, vector, state, parts, place)
                outputs[direction].append(state[0])
        pairs = zip(outputs["forward"], outputs["backward"][::-1], strict=True)
        found = np.array([np.concatenate(pair) for pair in pairs])
        x = found + x if config.residual and layer else found
    return x, outputs["forward"][-1], outputs["backward"][-1]


def additive_context(state, memory, parts):
    """Bahdanau et al., Equations 5 and 6 and e_ij = v^T tanh(W s_(i-1) + U h_j)."""
    w, u, v = (parts(f"attention/score/{name}", "kernel") for name in "WUv")
    weights = softmax(np.array([np.tanh(state @ w + h @ u) @ v[:, 0] for h in memory]))
    return sum(weight * h for weight, h in zip(weights, memory, strict=True)), weights


def general_context(state, memory, parts):
    """Luong et al., Equations 7 and 8: h_t^T W_a h_s."""
    w = parts("attention/score/W", "kernel")
    weights = softmax(np.array([state @ (h @ w) for h in memory]))
    return sum(weight * h for weight, h in zip(weights, memory, strict=True)), weights


def recurrent(source, target, parts, config, tables):
    """The logits of a recurrent encoder-decoder, and its attention weights, sentence by sentence.

    By Bahdanau et al., appendix A, or Luong et al., Section 3; `tables` as for `transformer`.
    """
    logits = np.zeros((*target.shape, config.vocab_size))
    all_weights = np.zeros((*target.shape, source.shape[1]))
    contexts = {"additive": additive_context, "general": general_context}
    per_cell = 2 if config.cell == "lstm" else 1

    def dense(x, name):
        return x @ parts(f"decoder/{name}", "kernel") + parts(f"decoder/{name}", "bias")

    def cells(x, states):
        new = []
        for layer, state in enumerate(states):
            place = f"decoder/cells/layer_{layer}"
            new.append(recurrent_cell(config.cell, x, state, parts, place))
            x = new[-1][0] + x if config.residual and layer else new[-1][0]
        return x, new

    def attend(state):
        if config.attention == "none":
            return fixed, np.full(len(ids), 1.0 / len(ids))
        return contexts[config.score](state, memory, parts)

    for row, padded in enumerate(source):
        ids = padded[padded != 0]
        x = tables["source"][ids] * math.sqrt(config.embedding_dim)
        memory, forwards, backwards = annotations(x, parts, config)
        fixed = np.concatenate([forwards, backwards])
        start = np.split(np.tanh(dense(backwards, "start")), per_cell * config.num_layers)
        states = [start[i : i + per_cell] for i in range(0, len(start), per_cell)]
        fed = np.zeros(config.embedding_dim if config.input_feeding else 0)
        for position, word in enumerate(target[row]):
            y = tables["target"][word] * math.sqrt(config.embedding_dim)
            if config.attention == "luong":
                output, states = cells(np.concatenate([y, fed]), states)
                context, weights = attend(output)
                read = np.tanh(dense(np.concatenate([context, output]), "attentional"))
                fed = read if config.input_feeding else fed
            else:
                context, weights = attend(states[-1][0])
                output, states = cells(np.concatenate([y, context]), states)
                hidden = dense(np.concatenate([output, context, y]), "deep_output")
                read = np.maximum(*np.split(hidden, 2))
            logits[row, position] = tables["output"] @ read
            all_weights[row, position, : len(ids)] = weights
    return logits, all_weights


def pasts(parents):
    """Follows hypotheses back to their first step.

    `parents` is int `[steps, batch, beam]`, the hypothesis of the last step that each continues.
    Returns for each step int `[batch, beam, steps so far]`: as which hypothesis each one went
    through the steps so far, itself included.
    """
    found = []
    for step, numbers in enumerate(parents):
        rows = []
        for sentence, row in enumerate(numbers):
            earlier = [found[-1][sentence][parent] if step else [] for parent in row]
            rows.append([[*past, i] for i, past in enumerate(earlier)])
        found.append(np.array(rows, int))
    return found


def cut_plainly(tokens, most, vocabulary, every_sentence=False):
    """Cuts a source that is too long into sentences, and these, if need be, between words."""
    texts = [vocabulary[i] for i in tokens]
    if len(tokens) <= most and not every_sentence:
        return [list(tokens)]
    closing = "\"')]\u201c\u201d\u2019\u00bb\u300d\u300f\uff09"

    def begins_word(n):
        return texts[n].startswith("\u2581")

    def ends_sentence(n):
        last = texts[n - 1].rstrip(closing)[-1:]
        return last and (last in "\u3002\uff01\uff1f" or (last in ".!?\u2026" and begins_word(n)))

    pieces, start = [], 0
    sentence_ends = [n for n in range(1, len(tokens)) if ends_sentence(n)] + [len(tokens)]
    for end in sentence_ends:
        while end - start > most:
            words = [n for n in range(start + 1, start + most + 1) if begins_word(n)]
            cut = max(words, default=start + most)
            pieces.append(list(tokens[start:cut]))
            start = cut
        pieces.append(list(tokens[start:end]))
        start = end
    return pieces
