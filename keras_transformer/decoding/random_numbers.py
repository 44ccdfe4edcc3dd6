"""Random numbers by their places: each is a function of a key and its own place alone.

What is drawn for a sentence so depends neither on the batch that it is in, nor on its neighbours.
"""

import keras
from keras import ops

from keras_transformer.tensors import Tensor

# A pair of words.
Words = tuple[Tensor, Tensor]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def make_key(seed: int | keras.random.SeedGenerator | Tensor | None) -> Tensor:
    """Makes a key of a seed.

    Args:
        seed: As in `keras.random`: an int, a `SeedGenerator`, or None for one from Keras's own; or
            a key, int32 `[2]`, which is given back.

    Returns:
        int32 `[2]`.

    Example:
        >>> tuple(make_key(0).shape)
        (2,)
    """
    if seed is None or isinstance(seed, int | keras.random.SeedGenerator):
        return keras.random.randint((2,), 0, 2**31 - 1, "int32", seed=seed)
    return seed


def uniform_numbers(key: Tensor, places: Tensor, rows: int, columns: int | Tensor) -> Tensor:
    """Draws a table of numbers for each place.

    Args:
        key: int32 `[2]`.
        places: int32 `[batch, 2]`.
        rows: Rows of a table.
        columns: Columns of a table; more of them change none of the others.

    Returns:
        float32 `[batch, rows, columns]`, in [0, 1), uniform.

    Example:
        >>> places = np.array([[0, 0], [7, 0]], "int32")
        >>> numbers = uniform_numbers(make_key(0), places, rows=1, columns=3)
        >>> alone = uniform_numbers(make_key(0), places[1:], rows=1, columns=2)
        >>> bool(keras.ops.all(numbers[1:, :, :2] == alone))
        True
    """
    words = [_words(ops.reshape(key[i], (1,))) for i in range(2)]
    # A key for each place, of which the table's own places are the counters.
    first, second = threefry((words[0], words[1]), (_words(places[:, 0]), _words(places[:, 1])))
    own = ops.reshape(first, (-1, 1, 1)), ops.reshape(second, (-1, 1, 1))
    row = ops.reshape(ops.arange(rows, dtype="int32"), (1, -1, 1))
    column = ops.reshape(ops.arange(columns, dtype="int32"), (1, 1, -1))
    bits, _ = threefry(own, (_words(row), _words(column)))
    # As many bits as a float32 holds exactly.
    return ops.cast(ops.bitwise_right_shift(bits, _word(8)), "float32") * 2.0**-24


def threefry(key: Words, counter: Words) -> Words:
    """Threefry-2x32 of 20 rounds: a bijection of two words, chosen by a key.

    Args:
        key: uint32 tensors.
        counter: uint32 tensors; all four shapes broadcast.

    Returns:
        uint32 tensors.

    Example:
        >>> zero = keras.ops.zeros((1,), "uint32")
        >>> [hex(int(word[0])) for word in threefry((zero, zero), (zero, zero))]
        ['0x6b200159', '0x99ba4efe']

    Reference:
        "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
    """
    parity = ops.bitwise_xor(ops.bitwise_xor(key[0], key[1]), _word(_PARITY))
    keys = (key[0], key[1], parity)
    first, second = counter[0] + keys[0], counter[1] + keys[1]
    for round_ in range(5):
        for distance in _ROTATIONS[round_ % 2]:
            first = first + second
            second = ops.bitwise_xor(_rotated(second, distance), first)
        first = first + keys[(round_ + 1) % 3]
        second = second + keys[(round_ + 2) % 3] + _word(round_ + 1)
    return first, second


def _rotated(words: Tensor, distance: int) -> Tensor:
    left = ops.bitwise_left_shift(words, _word(distance))
    return ops.bitwise_or(left, ops.bitwise_right_shift(words, _word(32 - distance)))


def _words(integers: Tensor) -> Tensor:
    return ops.cast(integers, "uint32")


def _word(value: int) -> Tensor:
    return ops.convert_to_tensor(value, "uint32")
