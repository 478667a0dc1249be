# SPDX-License-Identifier: Apache-2.0
"""The weights of a watched layer as the session takes them: W_d, W_gate and W_up."""

from torch import Tensor, nn

from .layers import Layer


def weights_of(layer: Layer) -> list[Tensor]:
    """[W_d], or [W_d, W_gate, W_up], each [outputs, inputs]; none where a matrix is not whole here
    (sharded, quantised, with an adapter), or a gate is not known by its name."""
    down = _matrix_of(layer.module)
    if down is None:
        return []
    beside = [module() for module in layer.beside]
    found = [_matrix_of(module) for module in beside if module is not None]
    matrices = [matrix for matrix in found if matrix is not None]
    if len(matrices) == 1 and len(matrices[0]) == 2 * down.shape[1]:
        matrices = list(matrices[0].chunk(2))  # packed, the gate first
    fit = len(matrices) == 2 and all(len(matrix) == down.shape[1] for matrix in matrices)
    return [down, *matrices] if fit else [down]


def _matrix_of(module: nn.Module) -> Tensor | None:
    if not isinstance(module, nn.Linear):
        return None
    weight = module.weight
    whole = (
        isinstance(weight, Tensor)
        and not hasattr(weight, "device_mesh")
        and not hasattr(weight, "ds_id")  # DeepSpeed's, which would stay whole as long as it is held
        and weight.shape == (module.out_features, module.in_features)
        and weight.is_floating_point()
        and type(weight) in (Tensor, nn.Parameter)
    )
    return weight if whole else None
