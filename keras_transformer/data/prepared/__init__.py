"""Token ids of a corpus, written once and looked up ever after, by the place of a pair.

What shuffles, mixes and shares pairs looks at none of them. So it works on places, whole numbers,
in place of lines, draws the same order, and `PreparedPairs` looks up what `PairPreprocessor` would
have made of the lines. Which pair comes when then costs no text, so a place in the midst of an
epoch is found in seconds.

A prepared corpus is a folder, named by what it was made of (`origin.py`). A change of that is
another name, so nothing outdated is ever read.

    shard-00000/     the first pairs, in the order of the corpus; as many in each but the last
      source.npy     ids of all lines, one after the other
      target.npy
      lengths.npy    tokens of source and target, eos included: int32, [pairs, 2]
      weights.npy    of a corpus that has them: float32, [pairs]
    index/           written last; with it the corpus is whole
      bounds.npy     where each line begins among the ids of all shards: int64, [pairs + 1, 2]
      lengths.npy    of all shards
      weights.npy
      about.json     what it was made of

The arrays are NumPy's own format, mapped into memory: any NumPy reads them, a line is one slice,
and nothing needs to be installed.
"""
