"""Calls of `scipy.spatial.distance.cdist` and `pdist`: each metric, with and without weights."""

_WEIGHTED = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean"),
    *("hamming", "jaccard", "sqeuclidean"),
)
_OF_BOOLEANS = ("dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule", "hamming", "jaccard")
#: With floats among the arguments, so that the result has their width.
_ONES = "(0 * w[:5] + 1)"
_OTHERS = [
    "'minkowski'",
    "'minkowski', p=3",
    "'minkowski', p=1.5",
    "'minkowski', p=0.5",
    "'mi', p=1",
    "'pnorm', p=np.inf",
    "metric='seuclidean'",
    "'mahalanobis'",
    "'matching'",
    "'Cityblock'",
]
_SPECIAL = (
    "chebyshev",
    "canberra",
    "hamming",
    "jaccard",
    "yule",
    "euclidean",
    "seuclidean",
    "jensenshannon",
)
_WIDE = ("euclidean", "cosine", "chebyshev", "canberra", "jaccard", "correlation")

CALLS = {
    "spatial.distance.cdist": [
        "points, points2",
        *(f"points, points2, {name!r}" for name in _WEIGHTED),
        *(f"points, points2, {name!r}, w=w[:3]" for name in _WEIGHTED),
        *(f"points, points2, {other}" for other in _OTHERS),
        "points, points2, 'minkowski', p=3, w=w[:3]",
        "points, points2, 'minkowski', p=np.inf, w=w[:3]",
        "points, points2, 'seuclidean', V=w[:3]",
        "points, points2, 'mahalanobis', VI=stack[0][:3, :3]",
        "points**2, points2**2, 'jensenshannon'",
        *(f"booleans * {_ONES}, booleans2, {name!r}" for name in _OF_BOOLEANS),
        *(f"booleans, booleans2, {name!r}, w=w[:5]" for name in _OF_BOOLEANS),
        *(
            f"booleans * w[:5], booleans2 * w[0], {n!r}"
            for n in ("jaccard", "hamming", "canberra", "dice")
        ),
        "booleans * w[:5], booleans2 * w[0], 'dice', w=w[:5]",
        *(f"signals, 2 * signals[:2], {name!r}" for name in _WIDE),
        *(f"signals, 2 * signals[:2], {name!r}, w=signals[0]**2" for name in _WIDE),
        "signals**2, signals[:2]**2, 'jensenshannon'",
        *(f"special.reshape(3, 3), points2, {name!r}" for name in _SPECIAL[:-1]),
        *(f"points, special.reshape(3, 3), {name!r}, w=w[:3]" for name in _SPECIAL[:-2]),
        "points * points2[:1] * 0, points2, 'jensenshannon'",
        *(f"points * 0, points2 * 0, {name!r}" for name in _SPECIAL),
        *(f"points * 0, points2 * 0, {name!r}" for name in ("cosine", "dice", "sokalsneath")),
        "signals, signals[:2], 'minkowski', p=3",
        "signals[:, :40] > 0, signals[:2, :40] > 0, 'yule', w=signals[0, :40]**2",
        "labels[:, :3] + points[:17], points2",
        "points, points2 + 1e4, 'sqeuclidean'",
        "points[:1], points2, 'euclidean'",
        "with_nan[:48].reshape(16, 3), points2, 'cityblock'",
        "points, points2, metric='mahal', VI=xp.linalg.inv(stack[0][:3, :3])",
        "points[:0], points2",
        "points, points2[:4], 'sqe'",
    ],
    "spatial.distance.pdist": [
        "points",
        *(f"points, {name!r}" for name in _WEIGHTED),
        *(f"points, {name!r}, w=w[:3]" for name in _WEIGHTED),
        *(f"points, {other}" for other in _OTHERS),
        "points, 'seuclidean', V=w[:3]",
        "points, 'mahalanobis', VI=stack[0][:3, :3]",
        "points**2, 'jensenshannon'",
        *(f"booleans * {_ONES}, {name!r}" for name in _OF_BOOLEANS),
        *(f"booleans, {name!r}, w=w[:5]" for name in _OF_BOOLEANS),
        *(f"signals, {name!r}" for name in _WIDE),
        *(f"signals, {name!r}, w=signals[0]**2" for name in _WIDE),
        "points[:1]",
        "points[:2]",
        "x.reshape(25, 2)",
        "image, 'sqeuclidean'",
    ],
}


ERRORS = {
    "spatial.distance.cdist": [
        "points, wide",
        "points, x",
        "points, points2, 'x'",
        "points, points2, 3",
        "points, points2, 'euclidean', p=3",
        "points, points2, 'euclidean', w=w[:2]",
        "points, points2, 'euclidean', w=-w[:3]",
        "points, points2, 'seuclidean', V=w[:2]",
        "points[:2], points2[:1], 'mahalanobis'",
        "points, points2, 'mahalanobis', w=w[:3]",
        "points, points2, 'euclidean', V=w[:3]",
        "points, points2, 'jensenshannon', w=w[:3]",
        "points, points2, q=3",
    ],
    "spatial.distance.pdist": [
        "x",
        "points, 'x'",
        "points, 'cosine', w=-w[:3]",
        "points[:2], 'mahalanobis'",
    ],
}
