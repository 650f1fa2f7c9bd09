"""The colours of families, against a model of colour vision that is not ours."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from longwave.platform.figures.palette import FAMILIES, NEUTRAL, family_colour
from longwave.platform.registry import all_models

# Machado, Oliveira and Fernandes, IEEE Trans. Visualization and Computer Graphics 2009, severity 1, in linear RGB.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
BACKGROUNDS = ("#FFFFFF", "#11161C")


def linear(code: str) -> np.ndarray:
    c = np.array([int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Return CIE L*a*b* of linear RGB."""
    f = XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(f > 0.008856, np.cbrt(f), 7.787 * f + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(float(XYZ[1] @ linear(code)) for code in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("eyes", SEEN)
def test_no_two_families_look_alike(eyes: str) -> None:
    codes = [*FAMILIES.values(), NEUTRAL]
    seen = {code: lab(np.array(SEEN[eyes]) @ linear(code)) for code in codes}
    for a, b in combinations(codes, 2):
        assert np.linalg.norm(seen[a] - seen[b]) > 15, f"{a} and {b} with {eyes}"


def test_every_colour_is_seen_on_both_backgrounds() -> None:
    for code in FAMILIES.values():
        assert all(contrast(code, background) >= 3 for background in BACKGROUNDS), code


def test_every_colour_is_that_of_one_family_of_models_and_a_new_family_has_none() -> None:
    families = {spec.family for spec in all_models().values()}
    assert families >= FAMILIES.keys() and len(set(FAMILIES.values())) == len(FAMILIES)
    assert family_colour("") == NEUTRAL == family_colour("a family of tomorrow")
