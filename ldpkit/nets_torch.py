"""The networks of the federated-learning simulator that the LDP-SGD paper probably used; needs the extra ``torch``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .nets import Net
from .types import Array, Rng

__all__ = ["TorchNet", "convnet", "char_lstm"]


class TorchNet(Net):
    """A PyTorch classifier, in evaluation mode, with the attributes and methods of `ldpkit.nets.Net`.

    Parameters
    ----------
    build : callable
        ``build(torch)`` returns the module; it maps an array of records to scores.
    rng : numpy.random.Generator
        Seeds the initial parameters.

    Raises
    ------
    ModuleNotFoundError
        Without PyTorch, naming the extra.
    """

    def __init__(self, build: Callable[[Any], Any], rng: Rng) -> None:
        try:
            import torch
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("PyTorch is missing: pip install 'ldpkit[torch]'") from error
        torch.manual_seed(int(rng.integers(2**62)))
        self.torch, self.build, self.module, self.dtype = torch, build, build(torch).eval(), np.float32
        self.weights = list(self.module.parameters())
        self.theta = torch.nn.utils.parameters_to_vector(self.weights).detach().numpy().copy()
        self.d, self.classes = self.theta.size, self.weights[-1].numel()

    def fresh(self, rng: Rng) -> "TorchNet":
        """Return a net of the same build with newly drawn parameters."""
        return TorchNet(self.build, rng)

    def _scores(self, x: Array) -> Any:
        self.torch.nn.utils.vector_to_parameters(self.torch.from_numpy(self.theta.copy()), self.weights)
        return self.module(self.torch.from_numpy(np.ascontiguousarray(x)))

    def predict(self, x: Array) -> Array:
        """Return the probability of each class, shape (n, classes)."""
        return self._scores(x).softmax(1).detach().numpy()

    def gradients(self, x: Array, y: Array) -> Array:
        """Return the gradient of the loss of every record, shape (n, d), for labels `y`."""
        losses = self.torch.nn.functional.cross_entropy(
            self._scores(x), self.torch.from_numpy(np.asarray(y, np.int64)), reduction="none")  # fmt: skip
        found = [self.torch.autograd.grad(loss, self.weights, retain_graph=True) for loss in losses]
        return np.stack([np.concatenate([g.numpy().ravel() for g in own]) for own in found])


def convnet(shape: tuple[int, int, int], classes: int, rng: Rng) -> TorchNet:
    """Return the simulator's ConvNet for float32 images (height, width, channels): four convolutions, one normalisation."""

    def build(torch: Any) -> Any:
        nn, (height, width, channels) = torch.nn, shape
        norm, parts = nn.GroupNorm(32, 32), []
        for i in range(4):
            parts += [nn.Conv2d(32 if i else channels, 32, 3, padding=2), norm, nn.ReLU(), nn.MaxPool2d(2)]
            height, width = (height + 2) // 2, (width + 2) // 2
        net = nn.Sequential(*parts, nn.Flatten(), nn.Linear(32 * height * width, classes))
        net.register_forward_pre_hook(lambda _, x: x[0].permute(0, 3, 1, 2))
        return net

    return TorchNet(build, rng)


def char_lstm(symbols: int, classes: int, rng: Rng) -> TorchNet:
    """Return the simulator's CharLSTM: embedding 100, two layers of 100 units; the symbol with number `symbols` pads."""

    def build(torch: Any) -> Any:
        class Chars(torch.nn.Module):  # type: ignore[misc]  # PyTorch is optional
            def __init__(self) -> None:
                super().__init__()
                self.table = torch.nn.Embedding(symbols + 1, 100)
                self.layers = torch.nn.LSTM(100, 100, 2, batch_first=True, dropout=0.1)
                self.out = torch.nn.Linear(100, classes)

            def forward(self, x: Any) -> Any:
                states, last = self.layers(self.table(x))[0], ((x != symbols).sum(1) - 1).clamp(min=0)
                return self.out(states[torch.arange(len(x)), last])

        return Chars()

    return TorchNet(build, rng)
