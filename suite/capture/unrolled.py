"""Keras' recurrent layers without loops, which a graph of plain operations cannot have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING

from suite.core.errors import InputError

if TYPE_CHECKING:
    import keras


@contextmanager
def unrolled(network: keras.Model, name: str) -> Iterator[list[str]]:
    """Unroll recurrent layers while the step is traced; yields the choice in words.

    Raises InputError at the end where a layer has gone backwards over a masked sequence: Keras 3.15
    fills in what the mask leaves out from the other end once it is unrolled. Where that is noticed
    an error would come out of Keras in other words.
    """
    import keras

    found = [layer for layer in network._flatten_layers() if isinstance(layer, keras.layers.RNN)]
    before = [layer.unroll for layer in found]
    backwards = [layer for layer in found if layer.go_backwards and layer.return_sequences]
    for layer in found:
        layer.unroll = True
    masked: list[str] = []
    for layer in backwards:
        layer.call = _noting_masks(layer, masked)
    try:
        yield ["recurrent layers unrolled"] if found else []
    finally:
        for layer, unroll in zip(found, before, strict=True):
            layer.unroll = unroll
        for layer in backwards:
            del layer.call
    for layer_name in masked[:1]:
        raise InputError(
            f"{name}: layer {layer_name!r} goes backwards over a masked sequence and returns all of"
            " it, which Keras computes otherwise where loops are unrolled, as they must be here;"
            " leave out the mask, or name a function of one step"
        )


def _noting_masks(layer: keras.layers.RNN, masked: list[str]) -> Callable[..., object]:
    """A recurrent layer's call that adds its name to ``masked`` where it is given a mask."""
    call = layer.call

    @wraps(call)
    def checked(*given: object, **named: object) -> object:
        if signature(call).bind(*given, **named).arguments.get("mask") is not None:
            masked.append(layer.name)
        return call(*given, **named)

    return checked
