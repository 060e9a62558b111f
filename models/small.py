"""The recurrent networks at a width and length that CPU cores run in about a second.

For running placements for real where there is no GPU (docs/fidelity.md); no paper's sizes.
"""

from __future__ import annotations

from models.nmt import NMT
from models.rnnlm import RNNLM

TASKS = {
    "rnnlm_small": RNNLM(batch=32, units=512, steps=10, vocabulary=5_000, paper_ops=None),
    "nmt_2_small": NMT(2, 2, None, batch=32, units=256, steps=10, vocabulary=5_000),
    "nmt_4_small": NMT(4, 4, None, batch=32, units=256, steps=10, vocabulary=5_000),
}
