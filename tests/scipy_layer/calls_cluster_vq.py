"""Calls of `scipy.cluster.vq`."""

CALLS = {
    "cluster.vq.vq": [
        "points, points2",
        "points, points2[:1], check_finite=False",
        "x, y[:5]",
        "signals, 2 * signals",
        "labels[:, :3] + points[:17], points2",
        "labels[:, :3], points2",
    ],
    "cluster.vq.whiten": ["points", "x"],
    "cluster.vq.kmeans": [
        "points, points[:4]",
        "points, points[:4] * 0.1 + 9",
        "x, y[:3]",
        "points, 3, rng=5",
        "points, 2, iter=3, thresh=0.1, rng=np.random.default_rng(1)",
        "points, points[:2], 1, 0.5, False",
    ],
    "cluster.vq.kmeans2": [
        "points, points[:4]",
        "points, points[:4], 3, minit='matrix'",
        "x, y[:3], check_finite=False",
        "points, 3, rng=5",
        "x, 3, rng=5",
        "points, 3, minit='points', rng=5",
        "points, 4, minit='++', rng=5",
        "x, 4, minit='++', rng=6",
        "points, 100 + points[:3], missing='warn'",
    ],
}

#: How many codes are left, and when it's done, are read.
READS = {"cluster.vq.kmeans": ["points, points[:4] * 0.1 + 9", "x, y[:3]"]}

ERRORS = {
    "cluster.vq.vq": ["points, wide", "points, x", "with_nan[:48].reshape(16, 3), points2"],
    "cluster.vq.kmeans": [
        "points, 0",
        "points, 2, 0",
        "points, 2.5",
        "special[:9].reshape(3, 3), 2",
    ],
    "cluster.vq.kmeans2": [
        "points, 0",
        "points, 3, 0",
        "points, 3, minit='x'",
        "points, 3, missing='x'",
        "points, wide",
        "cube, 3",
        "points, 100 + points[:3], missing='raise'",
    ],
}
