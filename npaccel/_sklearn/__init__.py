"""scikit-learn on tensors: one table of its estimators, and what carries data to the device.

In: estimators and functions of scikit-learn, with tensors or arrays. Out: the same with what is
computed on a device.

`dispatch` holds the table, the mixin of accelerated classes, the routes of their calls and the one
place that copies between host and device. The other folders and modules are the estimators of one
submodule each, as `MODULES` lists them. Read `dispatch/estimator.py` first.
"""

#: The modules that declare rows, in the order in which they are imported.
MODULES = (
    "cluster.density",
    "cluster.means",
    "compose",
    "decomposition.factors",
    "decomposition.ica",
    "decomposition.kernel_pca",
    "decomposition.nmf",
    "decomposition.pca",
    "decomposition.svd",
    "discriminant_analysis",
    "gaussian_process.regression_base",
    "gaussian_process.classification",
    "host",
    "impute.neighbors",
    "impute.simple",
    "kernel_ridge",
    "linear_model.generalized",
    "linear_model.least_squares",
    "linear_model.logistic",
    "linear_model.sgd",
    "linear_model.sgd_numbers",
    "linear_model.sparse",
    "linear_model.sparse_cv",
    "manifold.tsne",
    "metrics.clusters",
    "metrics.distances",
    "metrics.ranking",
    "mixture",
    "naive_bayes",
    "neighbors.brute",
    "neighbors.radius",
    "neural_network.neural_network",
    "preprocessing.bins",
    "preprocessing.delegated",
    "preprocessing.encoders",
    "preprocessing.power",
    "preprocessing.quantiles",
    "preprocessing.standard",
    "random_projection",
    "feature_selection",
    "svm.kernel",
    "svm.linear",
)
