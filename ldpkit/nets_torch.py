"""The networks of the federated-learning simulator that the LDP-SGD paper probably used; needs the extra ``torch``.

They have the attributes and methods of `ldpkit.nets.Net`, so `ldpkit.nets.train` and the attacks take them, too.
"""

import numpy as np

__all__ = ["TorchNet", "convnet", "char_lstm"]


def _torch():
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("PyTorch is missing: pip install 'ldpkit[torch]'") from error
    return torch


class TorchNet:
    """A PyTorch classifier with one flat parameter vector `theta` and gradients per record, in evaluation mode.

    Parameters
    ----------
    build : callable
        ``build(torch)`` returns the module; its first input is the array of records.
    rng : numpy.random.Generator
        Seeds the initial parameters.

    Raises
    ------
    ModuleNotFoundError
        Without PyTorch, naming the extra.
    """

    dtype = np.float32

    def __init__(self, build, rng):
        torch = self.torch = _torch()
        torch.manual_seed(int(rng.integers(2**62)))
        self.build, self.module = build, build(torch).eval()
        self.weights = list(self.module.parameters())
        self.theta = torch.nn.utils.parameters_to_vector(self.weights).detach().numpy().copy()
        self.d, self.classes = self.theta.size, self.weights[-1].numel()

    def fresh(self, rng):
        """Return a net of the same build with newly drawn parameters."""
        return TorchNet(self.build, rng)

    def _scores(self, x):
        self.torch.nn.utils.vector_to_parameters(self.torch.from_numpy(self.theta.copy()), self.weights)
        return self.module(self.torch.from_numpy(np.ascontiguousarray(x)))

    def predict(self, x):
        """Return the probability of each class, shape (n, classes)."""
        with self.torch.no_grad():
            return self._scores(x).softmax(1).numpy()

    def accuracy(self, x, y):
        """Return the share of records whose likeliest class is their label."""
        return float((self.predict(x).argmax(axis=1) == y).mean())

    def gradients(self, x, y, each=True):
        """Return the gradient of the loss of every record, shape (n, d), or their mean, shape (d,)."""
        if each:
            return np.stack([self.gradients(x[i : i + 1], y[i : i + 1], False) for i in range(len(y))])
        loss = self.torch.nn.functional.cross_entropy(self._scores(x), self.torch.from_numpy(np.asarray(y, np.int64)))
        return np.concatenate([g.numpy().ravel() for g in self.torch.autograd.grad(loss, self.weights)])


def convnet(shape, classes, rng):
    """Return the simulator's ConvNet for float32 images (height, width, channels): four convolutions, one shared normalisation."""

    def build(torch):
        nn, (height, width, channels) = torch.nn, shape
        norm, parts = nn.GroupNorm(32, 32), []
        for i in range(4):
            parts += [nn.Conv2d(32 if i else channels, 32, 3, padding=2), norm, nn.ReLU(), nn.MaxPool2d(2)]
            height, width = (height + 2) // 2, (width + 2) // 2
        net = nn.Sequential(*parts, nn.Flatten(), nn.Linear(32 * height * width, classes))
        net.register_forward_pre_hook(lambda _, x: x[0].permute(0, 3, 1, 2))
        return net

    return TorchNet(build, rng)


def char_lstm(symbols, classes, rng):
    """Return the simulator's CharLSTM: width 100, two layers of 100 units; the symbol with number `symbols` pads."""

    def build(torch):
        class Chars(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Embedding(symbols + 1, 100)
                self.layers = torch.nn.LSTM(100, 100, 2, batch_first=True, dropout=0.1)
                self.out = torch.nn.Linear(100, classes)

            def forward(self, x):
                states, last = self.layers(self.table(x))[0], ((x != symbols).sum(1) - 1).clamp(min=0)
                return self.out(states[torch.arange(len(x)), last])

        return Chars()

    return TorchNet(build, rng)
