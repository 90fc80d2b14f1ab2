"""How the model of this story came about: a classifier with a torch.concat, exported. Needs torch; run.sh uses the result.

    python3 export.py model.pt2
"""

import sys

import torch


class Block(torch.nn.Sequential):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        convolution = torch.nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        super().__init__(convolution, torch.nn.BatchNorm2d(outputs), torch.nn.ReLU())


class Classifier(torch.nn.Module):
    """28x28 grey images to ten classes; two branches that are joined by torch.concat."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = Block(1, 16, stride=2)
        self.left = Block(16, 16)
        self.right = torch.nn.Sequential(Block(16, 16), Block(16, 16))
        self.down = Block(32, 64, stride=2)
        self.head = torch.nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = torch.concat([self.left(x), self.right(x)], dim=1)
        return self.head(self.down(x).mean((2, 3)))


if __name__ == "__main__":
    model = Classifier().eval()  # train it here
    program = torch.export.export(model, (torch.randn(1, 1, 28, 28),))
    torch.export.save(program, sys.argv[1])
