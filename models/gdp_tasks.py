"""GDP's tasks that are models of HDP or ColocRL at another size (Zhou et al. 2019, Tables 1 and 3).

Its other ones are in :mod:`models.gnmt`, :mod:`models.transformer_xl`, :mod:`models.wavenet` and
:mod:`models.amoebanet`. docs/models.md lists them all, and the rule for what GDP does not give.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.inception import InceptionV3
from models.rnnlm import RNNLM


@dataclass(frozen=True)
class GDPRNNLM(RNNLM):
    """The language model, whose expert gives each layer its own GPU."""

    paper_ops: int | None = None
    """Not given by GDP."""
    layer_per_gpu: bool = True
    """HDP, section 4.1. GDP's cell of two layers is not a single GPU's, as HDP's is."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        sizes = f"batch {self.batch}, LSTM size {self.units}, {self.steps} steps, as ColocRL"
        return (*super().choices, sizes)


@dataclass(frozen=True)
class GDPInception(InceptionV3):
    """Inception-V3 with ColocRL's batch, and HDP's expert."""

    batch: int = 32
    """Images per step (ColocRL). HDP's batch of 1 takes a K40 0.15 s: GDP's 0.4 s are not it."""
    paper_ops: int | None = None
    """Not given by GDP."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (
            *super().choices,
            "Inception-V3, 32 images of 299 x 299 pixels, as ColocRL",
            "the expert takes one GPU, as HDP's",
        )


TASKS = {
    "gdp_rnnlm_2": GDPRNNLM(),
    "gdp_rnnlm_4": GDPRNNLM(layers=4, gpus=4),
    "gdp_rnnlm_8": GDPRNNLM(layers=8, gpus=8),
    "gdp_inception_v3": GDPInception(),
}
