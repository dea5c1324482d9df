"""Functions of `scipy.spatial` itself."""

from npaccel._scipy.dispatch.table import through_host

through_host("spatial.tsearch", "SciPy walks from one triangle to the next")
through_host(
    "spatial.convex_hull_plot_2d spatial.delaunay_plot_2d spatial.voronoi_plot_2d",
    "draws an object of SciPy's",
    takes_arrays=False,
)
