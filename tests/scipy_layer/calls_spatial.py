"""Calls of the functions of `scipy.spatial` itself."""

CALLS = {
    "spatial.distance_matrix": [
        "points, points2",
        "points, points2, p=1",
        "points[:3], points2, 3",
    ],
    "spatial.geometric_slerp": [
        "xp.eye(3, dtype=points.dtype)[0], xp.eye(3, dtype=points.dtype)[1], unit",
    ],
    "spatial.minkowski_distance": ["points[:15], points2", "points[:15], points2, 1"],
    "spatial.minkowski_distance_p": ["points[:15], points2", "points[:15], points2, 3"],
    "spatial.procrustes": ["points[:15], points2"],
    "spatial.tsearch": [
        "scipy.spatial.Delaunay(np.eye(3)[:, :2] * 3.0), xp.stack([unit, unit], 1)"
    ],
}
ERRORS = {
    "spatial.procrustes": ["points, points2"],
    "spatial.distance_matrix": ["points, x"],
}
