"""The common work: people of a few shapes over one, two and three dimensions, and ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHAPES: dict[str, tuple[int, ...]] = {
    "1-D, 256": (256,),
    "1-D, 1024": (1024,),
    "2-D, 64x64": (64, 64),
    "3-D, 64x64x64": (64, 64, 64),
}
DATA = ("gauss", "zipf", "spiky", "correlated")


@dataclass(frozen=True)
class Task:
    """People who answer once. epsilon: as text, exact."""

    shape: str
    data: str
    epsilon: str
    people: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes per dimension."""
        return SHAPES[self.shape]


def codes_of(task: Task) -> np.ndarray:
    """Everybody's codes, shape (people, d); the same for every contestant."""
    random = np.random.default_rng([20, DATA.index(task.data), len(task.sizes), task.sizes[0]])
    columns = []
    common = random.standard_normal(task.people)
    for size in task.sizes:
        if task.data == "gauss":
            values = size * (0.5 + random.standard_normal(task.people) / 6)
        elif task.data == "correlated":
            own = random.standard_normal(task.people)
            values = size * (0.5 + (0.8 * common + 0.6 * own) / 6)
        elif task.data == "zipf":
            share = 1.0 / np.arange(1, size + 1) ** 1.1
            values = random.choice(size, task.people, p=share / share.sum())
        else:
            spikes = random.choice(size, max(4, size // 32), replace=False)
            spread = random.integers(0, size, task.people)
            values = np.where(
                random.random(task.people) < 0.7, random.choice(spikes, task.people), spread
            )
        columns.append(np.clip(np.floor(values), 0, size - 1).astype(np.int64))
    return np.stack(columns, axis=1)


def queries_of(task: Task, count: int) -> np.ndarray:
    """Ranges of any length in every dimension, shape (count, d, 2), half-open."""
    random = np.random.default_rng([21, len(task.sizes), task.sizes[0]])
    ends = [np.sort(random.integers(0, size + 1, (4 * count, 2)), axis=1) for size in task.sizes]
    found = np.stack(ends, axis=1)
    sizes = np.array(task.sizes)
    lengths = found[..., 1] - found[..., 0]
    proper = ((lengths > 0) & (lengths < sizes)).all(axis=1)
    return found[proper][:count]


def truth(codes: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Shares of the people, shape (k,), from the number of people of every cell."""
    sizes = tuple(codes.max(axis=0) + 1)
    people = np.bincount(np.ravel_multi_index(codes.T, sizes), minlength=np.prod(sizes))
    cells = people.reshape(sizes)
    inside = [tuple(slice(int(low), int(high)) for low, high in box) for box in queries]
    return np.array([cells[box].sum() for box in inside]) / len(codes)
