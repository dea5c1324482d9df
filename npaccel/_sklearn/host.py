"""Reasons why estimators stay on the host, of those that the other modules don't name."""

from __future__ import annotations

from npaccel._sklearn.dispatch.table import through_host

through_host(
    "tree.DecisionTreeClassifier tree.DecisionTreeRegressor tree.ExtraTreeClassifier "
    "tree.ExtraTreeRegressor ensemble.ExtraTreesClassifier ensemble.ExtraTreesRegressor "
    "ensemble.GradientBoostingClassifier ensemble.GradientBoostingRegressor "
    "ensemble.HistGradientBoostingClassifier ensemble.HistGradientBoostingRegressor "
    "ensemble.IsolationForest ensemble.RandomForestClassifier ensemble.RandomForestRegressor "
    "ensemble.RandomTreesEmbedding",
    "trees grow node by node, which is no array algorithm",
)
through_host(
    "preprocessing.LabelBinarizer preprocessing.LabelEncoder preprocessing.MultiLabelBinarizer",
    "labels are on the host",
)
through_host(
    "feature_extraction.DictVectorizer feature_extraction.FeatureHasher "
    "feature_extraction.text.CountVectorizer feature_extraction.text.HashingVectorizer "
    "feature_extraction.text.TfidfVectorizer",
    "it reads text or dicts, and gives a sparse matrix",
)
through_host(
    "feature_extraction.text.TfidfTransformer",
    "it's for sparse matrices",
)
through_host(
    "dummy.DummyClassifier dummy.DummyRegressor",
    "it doesn't look at the data",
)
through_host(
    "preprocessing.FunctionTransformer",
    "the function is the user's, and takes arrays",
)
