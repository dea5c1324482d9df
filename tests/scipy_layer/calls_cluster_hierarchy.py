"""Calls of `scipy.cluster.hierarchy`: a tree of four leaves."""

_ROWS = "[[0.0, 1, 0.5, 2], [2, 3, 0.7, 2], [4, 5, 1.5, 4]]"
_TREE = f"xp.asarray({_ROWS}, dtype=x.dtype)"
#: Some functions take trees of 64-bit floats only.
_WIDE = f"xp.asarray({_ROWS}, dtype=xp.float64)"
_SPREAD = "xp.asarray([[0.5, 0, 1, 0], [0.7, 0, 1, 0], [0.9, 0.53, 3, 1.13]], dtype=x.dtype)"
_OF_ROWS = ("average", "complete", "single", "weighted")

CALLS = {
    **{f"cluster.hierarchy.{name}": ["w[:45]", "points"] for name in _OF_ROWS},
    **{f"cluster.hierarchy.{name}": ["points"] for name in ("centroid", "median", "ward")},
    **{
        f"cluster.hierarchy.{name}": [_TREE]
        for name in ("cophenet", "inconsistent", "is_valid_linkage", "maxdists", "to_mlab_linkage")
    },
    **{
        f"cluster.hierarchy.{name}": [_WIDE]
        for name in ("is_monotonic", "leaves_list", "num_obs_linkage", "to_tree")
    },
    "cluster.hierarchy.linkage": ["points, 'ward'", "w[:45], 'complete', optimal_ordering=True"],
    "cluster.hierarchy.fclusterdata": ["points, 1.0"],
    "cluster.hierarchy.correspond": [f"{_WIDE}, w[:6]"],
    "cluster.hierarchy.cut_tree": [f"{_WIDE}, 2"],
    "cluster.hierarchy.dendrogram": [],  # in test_scipy_vectors.py
    "cluster.hierarchy.fcluster": [f"{_TREE}, 1.0, 'distance'"],
    "cluster.hierarchy.from_mlab_linkage": [f"{_TREE}[:, :3] + xp.asarray([1, 1, 0])"],
    "cluster.hierarchy.is_isomorphic": ["integers, integers + 1", "integers, 0 * integers"],
    "cluster.hierarchy.is_valid_im": [_SPREAD],
    "cluster.hierarchy.leaders": [f"{_TREE}, xp.asarray([1, 1, 2, 2], dtype=xp.int32)"],
    "cluster.hierarchy.maxRstat": [f"{_TREE}, {_SPREAD}, 1"],
    "cluster.hierarchy.maxinconsts": [f"{_TREE}, {_SPREAD}"],
    "cluster.hierarchy.optimal_leaf_ordering": [f"{_ROWS}, w[:6]"],
}

ERRORS = {
    "cluster.hierarchy.linkage": ["x[:7]", "points, 'x'", "special[:6]"],
    "cluster.hierarchy.dendrogram": [f"{_WIDE}[:, :3]"],
    "cluster.hierarchy.leaves_list": ["square"],
}
