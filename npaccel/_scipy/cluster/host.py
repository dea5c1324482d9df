"""Functions of `scipy.cluster.hierarchy` that go through the host, or take no arrays."""

from npaccel._scipy.dispatch.table import through_host

_OF = "cluster.hierarchy."

through_host(
    " ".join(
        _OF + name
        for name in (
            *("average", "centroid", "complete", "fclusterdata", "linkage", "median", "single"),
            *("ward", "weighted"),
        )
    ),
    "clusters are joined one after the other",
)
through_host(
    " ".join(
        _OF + name
        for name in (
            *(
                "cophenet",
                "cut_tree",
                "dendrogram",
                "fcluster",
                "from_mlab_linkage",
                "inconsistent",
            ),
            *("leaders", "leaves_list", "maxRstat", "maxdists", "maxinconsts"),
            *("optimal_leaf_ordering", "to_tree"),
        )
    ),
    "it goes through a tree, node by node",
)
through_host(f"{_OF}set_link_color_palette", "takes no arrays", takes_arrays=False)
