"""Calls of the distances of two vectors in `scipy.spatial.distance`."""

_PLAIN = (
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "hamming",
    "jaccard",
    "minkowski",
    "sqeuclidean",
)
_BOOLEAN = ("dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
_VECTORS = [
    "x, y",
    "x, y, w=w",
    "x, integers",
    "x[:6], [1.0, 2, 3, 4, 5, 6]",
    "with_nan, x",
    "large, 1e3 + x",
    "with_nan[3:], x[3:]",
    "zero_d.reshape(1) + 1, one",
]
_FINITE = [text for text in _VECTORS if "nan" not in text]
_TRUTHS = [
    "booleans[:, 0], booleans[:, 1] * w[:20]",
    "booleans[:, 0], booleans[:, 1], w=w[:20]",
    "booleans[:, 0] * x[:20], y[:20]",
    "unit, booleans.reshape(-1)[:50] * unit, w=w",
]

CALLS = {
    **{f"spatial.distance.{name}": _VECTORS for name in _PLAIN},
    "spatial.distance.euclidean": _FINITE,
    **{f"spatial.distance.{name}": _TRUTHS for name in _BOOLEAN},
    "spatial.distance.jaccard": [*_VECTORS, *_TRUTHS, "0 * x, 0 * y"],
    "spatial.distance.yule": [*_TRUTHS, "0 * x, 0 * y"],
    "spatial.distance.hamming": [*_VECTORS, *_TRUTHS],
    "spatial.distance.cityblock": [
        *_VECTORS,
        "integers, 0 * integers + 3",
        "integers, integers, w=w",
    ],
    "spatial.distance.chebyshev": [*_VECTORS, "integers, 0 * integers + 3"],
    "spatial.distance.canberra": [*_VECTORS, "0 * x, 0 * y"],
    "spatial.distance.minkowski": [
        *_FINITE,
        "x, y, 1",
        "x, y, p=3",
        "x, y, p=np.inf",
        "x, y, p=2.5, w=w",
        "x, y, np.inf, w",
        "x, y, 1, w",
        "z, z * 1j",
        "x, y, 0.5",
    ],
    "spatial.distance.correlation": [*_VECTORS, "x, y, centered=False", "x, y, w, False"],
    "spatial.distance.seuclidean": ["x, y, w", "x, y, integers + 1"],
    "spatial.distance.mahalanobis": ["vector, wide[0], spd", "x[:6], wide[0], square @ square.T"],
    "spatial.distance.jensenshannon": [
        "positive, w",
        "positive, w, base=2",
        "wide**2, wide[:1]**2, axis=1",
        "wide**2, 1 + wide**2, keepdims=True",
        "x, y",
        "(x > 0) * w, w",
        "counts[0] + w[:4], counts[1]",
    ],
    "spatial.distance.directed_hausdorff": ["points, points2", "wide, 2 * wide"],
}

ERRORS = {
    **{
        f"spatial.distance.{name}": ["x, y[:3]", "wide, wide", "x, y, -w"]
        for name in ("cityblock", "euclidean", "cosine", "hamming", "jaccard", "dice", "yule")
    },
    "spatial.distance.minkowski": ["x, y, p=0", "x, y, p=-1"],
    "spatial.distance.cosine": ["z, z"],
    "spatial.distance.seuclidean": ["x, y, w[:3]"],
    "spatial.distance.mahalanobis": ["x, y, spd"],
    "spatial.distance.directed_hausdorff": ["points, wide"],
    "spatial.distance.euclidean": [
        "booleans[:, 0], booleans[:, 1]",
        "with_nan, x",
        "x, 1 / (0 * y)",
    ],
}
