"""Words counted by group, and when each was first seen."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.arrays import longer
from nlpkit.kernels.idtable import insert, with_room

PIECE = 4096  # tokens between two looks at the room in the table


@njit(nogil=True, work="ids")
def tally_words(table, offsets, ids, groups, first_doc, n_tokens, cf, df, last_doc, first_seen):  # type: ignore[no-untyped-def]
    """Count the words of documents offsets (D+1,), ids (N,), groups (D,); return the table and the arrays, grown if need be.

    A word of a group has the key group << 32 | id and a slot in the table; an id or group below 0 is left out. By slot:
    cf, df occurrences and documents, last_doc the last of these (documents are numbered from first_doc), first_seen the
    place 1 … of the first occurrence among the tokens of its group. n_tokens (G,) counts the tokens of each group.
    """
    for d in range(len(offsets) - 1):
        group = np.int64(groups[d])
        if group < 0:
            continue
        at = n_tokens[group]
        for start in range(offsets[d], offsets[d + 1], PIECE):
            end = min(start + PIECE, offsets[d + 1])
            table = with_room(table, PIECE)
            room = len(table.keys)
            if room > len(cf):
                cf, df = longer(cf, room), longer(df, room)
                last_doc, first_seen = longer(last_doc, room), longer(first_seen, room)
            for i in range(start, end):
                if ids[i] < 0:
                    continue
                at += 1
                slot = insert(table, (group << 32) | np.int64(ids[i]))
                if cf[slot] == 0:
                    first_seen[slot] = at
                    last_doc[slot] = -1
                cf[slot] += 1
                if last_doc[slot] != first_doc + d:
                    last_doc[slot] = first_doc + d
                    df[slot] += 1
        n_tokens[group] = at
    return table, cf, df, last_doc, first_seen
