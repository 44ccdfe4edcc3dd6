"""The four ids that every vocabulary of this package begins with."""

PAD_ID = 0
UNK_ID = 1
BOS_ID = 2
EOS_ID = 3
