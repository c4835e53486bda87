"""A T5 (version 1.1) in PyTorch, with Hugging Face's names: the peer that Twinax's is compared with (check_dump.py)."""
import torch
from torch.nn import functional

BUCKETS = 32
LARGEST_DISTANCE = 128


def parameter_shapes(layers, decoder_layers, width, inner, heads, feed_forward, vocabulary):
    """Name to shape."""
    shapes = {"shared.weight": (vocabulary, width)}

    def add_attention(name, kind, has_bias):
        for part in "qkv":
            shapes[f"{name}.{kind}.{part}.weight"] = (inner, width)
        shapes[f"{name}.{kind}.o.weight"] = (width, inner)
        if has_bias:
            shapes[f"{name}.{kind}.relative_attention_bias.weight"] = (BUCKETS, heads)
        shapes[f"{name}.layer_norm.weight"] = (width,)

    for stack, blocks in (("encoder", layers), ("decoder", decoder_layers)):
        for block in range(blocks):
            name = f"{stack}.block.{block}.layer"
            add_attention(f"{name}.0", "SelfAttention", block == 0)
            if stack == "decoder":
                add_attention(f"{name}.1", "EncDecAttention", False)
            last = 1 if stack == "encoder" else 2
            for part in ("wi_0", "wi_1"):
                shapes[f"{name}.{last}.DenseReluDense.{part}.weight"] = (feed_forward, width)
            shapes[f"{name}.{last}.DenseReluDense.wo.weight"] = (width, feed_forward)
            shapes[f"{name}.{last}.layer_norm.weight"] = (width,)
        shapes[f"{stack}.final_layer_norm.weight"] = (width,)
    shapes["lm_head.weight"] = (vocabulary, width)
    return shapes


def bucket(key_minus_query, both_ways):
    """The bucket of a relative position, by whole numbers: a distance at a bucket's bound is in the upper one."""
    count = BUCKETS // 2 if both_ways else BUCKETS
    first = count if both_ways and key_minus_query > 0 else 0
    distance = abs(key_minus_query) if both_ways else max(-key_minus_query, 0)
    exact = count // 2
    if distance < exact:
        return first + distance
    j = 0  # bucket exact + j begins at exact * (LARGEST_DISTANCE / exact) ** (j / (count - exact))
    while j + 1 < count - exact and distance ** (count - exact) >= exact ** (count - exact) * (LARGEST_DISTANCE // exact) ** (j + 1):
        j += 1
    return first + exact + j


def position_bias(table, length, both_ways):
    """table [BUCKETS, heads] to [heads, queries, keys]."""
    buckets = torch.tensor([[bucket(key - query, both_ways) for key in range(length)] for query in range(length)])
    return table[buckets].permute(2, 0, 1)


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def attention(x, source, p, name, heads, bias, causal):
    """Not scaled; bias [heads, queries, keys] or None."""

    def split(value, weight):
        value = functional.linear(value, p[f"{name}.{weight}.weight"])
        return value.view(value.shape[0], value.shape[1], heads, -1).transpose(1, 2)

    q, k, v = split(x, "q"), split(source, "k"), split(source, "v")
    scores = q @ k.transpose(2, 3)
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    out = (scores.softmax(dim=3) @ v).transpose(1, 2).flatten(2)
    return functional.linear(out, p[f"{name}.o.weight"])


def feed_forward(x, p, name):
    u = functional.gelu(functional.linear(x, p[f"{name}.wi_0.weight"]), approximate="tanh")
    return functional.linear(u * functional.linear(x, p[f"{name}.wi_1.weight"]), p[f"{name}.wo.weight"])


def stack_of(x, encoded, p, stack, heads):
    """The blocks of a stack and its final norm."""
    blocks = sum(name.startswith(f"{stack}.block.") and name.endswith(".SelfAttention.q.weight") for name in p)
    table = p[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    bias = position_bias(table, x.shape[1], stack == "encoder")
    for block in range(blocks):
        name = f"{stack}.block.{block}.layer"
        normed = rms_norm(x, p[f"{name}.0.layer_norm.weight"])
        x = x + attention(normed, normed, p, f"{name}.0.SelfAttention", heads, bias, stack == "decoder")
        last = 1
        if encoded is not None:
            normed = rms_norm(x, p[f"{name}.1.layer_norm.weight"])
            x = x + attention(normed, encoded, p, f"{name}.1.EncDecAttention", heads, None, False)
            last = 2
        x = x + feed_forward(rms_norm(x, p[f"{name}.{last}.layer_norm.weight"]), p, f"{name}.{last}.DenseReluDense")
    return rms_norm(x, p[f"{stack}.final_layer_norm.weight"])


def loss_of(p, inputs, targets, heads):
    """The mean loss over all targets; the decoder reads id 0, then all targets but the last."""
    encoded = stack_of(p["shared.weight"][inputs], None, p, "encoder", heads)
    before = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], dim=1)
    decoded = stack_of(p["shared.weight"][before], encoded, p, "decoder", heads)
    logits = functional.linear(decoded, p["lm_head.weight"])
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
