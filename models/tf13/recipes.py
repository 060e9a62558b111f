"""The nine graphs: which model at which size, how it is trained, and what the papers leave open."""

from collections import OrderedDict, namedtuple
from functools import partial

import tensorflow as tf

import inception
import nmt
import resnet
import rnnlm
import training

HDP = "Mirhoseini et al. 2018, section 4"
COLOCRL = "Mirhoseini et al. 2017, Table 1"

Recipe = namedtuple("Recipe", "paper published loss optimizer training choices")
"""``loss`` builds the model, ``optimizer`` makes one, ``training`` joins them; ``choices`` is what
the paper does not say, in words."""

HDP_TRAINING = ("Optimizer.minimize, which gates gradients, and a Saver",)
COLOCRL_TRAINING = (
    "tf.gradients clipped by global norm 5, moving averages of all weights, and a Saver",
)
TRANSLATION = (
    "embedding_attention_seq2seq of TensorFlow's translation tutorial: a softmax per step, input"
    " feeding, sparse embedding gradients",
)
SLIM = ("TensorFlow-Slim's network and weight decay",)
NMT_WORDS = 55000
NMT_VOCABULARY = "vocabulary 55,000 (with 50,000 two layers would fit one K40)"
RNNLM_WORDS = 10000
RNNLM_VOCABULARY = "vocabulary 10,000 (Penn Treebank's)"
COLOCRL_RNNLM_WORDS = 2000
COLOCRL_RNNLM_VOCABULARY = "vocabulary 2,000 (with 5,000 it would not fit one K80 GPU)"


def adam():
    """Adam (ColocRL, section 4.1)."""
    return tf.train.AdamOptimizer(1e-3)


def rmsprop():
    """RMSProp (ColocRL, section 4.1) with the settings of TensorFlow's Inception program."""
    return tf.train.RMSPropOptimizer(0.045, decay=0.9, momentum=0.9, epsilon=1.0)


def momentum():
    """Stochastic gradient descent with momentum; HDP does not name ResNet's optimiser."""
    return tf.train.MomentumOptimizer(0.1, 0.9)


def hdp_nmt(layers, published):
    """NMT as in HDP."""
    choices = HDP_TRAINING + TRANSLATION
    choices += ("residual connections from the second layer on", NMT_VOCABULARY)
    if layers > 2:
        choices += ("LSTM size as of two layers (1024)",)
    loss = partial(nmt.loss, NMT_WORDS, layers, True)
    return Recipe(HDP, published, loss, adam, training.hdp, choices)


RECIPES = OrderedDict(
    [
        (
            "inception_v3_tf13",
            Recipe(
                HDP,
                24713,
                partial(inception.loss, 1),
                rmsprop,
                training.hdp,
                HDP_TRAINING + SLIM + ("auxiliary classifier",),
            ),
        ),
        (
            "resnet_152_tf13",
            Recipe(
                HDP,
                20586,
                partial(resnet.loss, 112),
                momentum,
                training.hdp,
                HDP_TRAINING
                + SLIM
                + (
                    "fused batch normalisation",
                    "momentum 0.9",
                    "images of 112 x 112 (224 would not fit a K40)",
                ),
            ),
        ),
        (
            "rnnlm_tf13",
            Recipe(
                HDP,
                9021,
                partial(rnnlm.joint, RNNLM_WORDS),
                adam,
                training.hdp,
                HDP_TRAINING
                + (
                    "a lookup per step, one softmax over all steps, sparse embedding gradients",
                    RNNLM_VOCABULARY,
                ),
            ),
        ),
        ("nmt_2_tf13", hdp_nmt(2, 28044)),
        ("nmt_4_tf13", hdp_nmt(4, 46600)),
        ("nmt_8_tf13", hdp_nmt(8, 83712)),
        (
            "colocrl_rnnlm_tf13",
            Recipe(
                COLOCRL,
                8943,
                partial(rnnlm.step_by_step, COLOCRL_RNNLM_WORDS),
                adam,
                training.colocrl,
                COLOCRL_TRAINING
                + (
                    "a placeholder, a lookup and a softmax per step, sparse embedding gradients",
                    COLOCRL_RNNLM_VOCABULARY,
                ),
            ),
        ),
        (
            "colocrl_nmt_tf13",
            Recipe(
                COLOCRL,
                22097,
                partial(nmt.loss, NMT_WORDS, 2, False),
                adam,
                training.colocrl,
                COLOCRL_TRAINING + TRANSLATION + ("no residual connections", NMT_VOCABULARY),
            ),
        ),
        (
            "colocrl_inception_v3_tf13",
            Recipe(
                COLOCRL,
                31180,
                partial(inception.loss, 32),
                rmsprop,
                training.colocrl,
                COLOCRL_TRAINING + SLIM + ("auxiliary classifier",),
            ),
        ),
    ]
)
