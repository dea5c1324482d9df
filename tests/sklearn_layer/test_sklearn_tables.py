"""Composites with tables of pandas and polars give what scikit-learn gives, dtypes and all."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import npaccel
import npaccel.sklearn
from npaccel._sklearn.dispatch import transfers

ROWS = 40
#: What results are to be, and whether that's configured for all estimators.
OUTPUTS = {
    "as it is": (None, False),
    "default": ("default", False),
    "pandas": ("pandas", False),
    "polars": ("polars", False),
    "pandas everywhere": ("pandas", True),
    "polars everywhere": ("polars", True),
}
NUMBERS = ["f", "g", "i"]
MIXED = ["i", "b", "c"]


def columns():
    random = np.random.default_rng(0)
    return {
        "f": random.normal(size=ROWS),
        "g": random.normal(size=ROWS).astype(np.float32),
        "i": random.integers(0, 9, ROWS),
        "i8": random.integers(0, 9, ROWS).astype(np.int8),
        "u": random.integers(0, 9, ROWS).astype(np.uint16),
        "b": random.integers(0, 2, ROWS).astype(bool),
        "c": np.array(list("xyz"))[random.integers(0, 3, ROWS)],
        "s": np.array(["aa", "bb", "cc"])[random.integers(0, 3, ROWS)],
        "t": np.arange("2020-01-01", "2020-02-10", dtype="datetime64[D]").astype("datetime64[us]"),
        "n": random.integers(0, 9, ROWS),
    }


def pandas_table():
    table = pd.DataFrame(columns(), index=np.arange(ROWS)[::-1] * 2)
    return table.astype({"c": "category", "n": "Int64"})


def polars_table():
    known = {k: list(v) if v.dtype.kind == "U" else v for k, v in columns().items()}
    return pl.DataFrame(known).with_columns(pl.col("c").cast(pl.Categorical))


TABLES = {"pandas": pandas_table, "polars": polars_table}
SCALED = ("a", StandardScaler(), ["f", "g"])
TRANSFORMERS = {
    "passed": ColumnTransformer([SCALED], remainder="passthrough"),
    "short names": ColumnTransformer(
        [SCALED], remainder="passthrough", verbose_feature_names_out=False
    ),
    "names by a pattern": ColumnTransformer(
        [SCALED],
        remainder="passthrough",
        verbose_feature_names_out="{feature_name}-{transformer_name}",
    ),
    "dropped": ColumnTransformer([SCALED, ("d", "drop", ["s"])]),
    "all dropped": ColumnTransformer([("a", "drop", ["f"])]),
    "nothing of a part": ColumnTransformer(
        [("a", StandardScaler(), []), ("b", "passthrough", ["i", "b"])]
    ),
    "numbers": ColumnTransformer([SCALED, ("p", "passthrough", ["i", "i8", "u"])]),
    "small integers": ColumnTransformer(
        [("a", MinMaxScaler(), ["g"]), ("p", "passthrough", ["i8", "u"])]
    ),
    "float32 and int64": ColumnTransformer(
        [("a", StandardScaler(), ["g"]), ("p", "passthrough", ["i"])]
    ),
    "float32 and bool": ColumnTransformer(
        [("a", StandardScaler(), ["g"]), ("p", "passthrough", ["b"])]
    ),
    "bool and int64": ColumnTransformer(
        [("a", StandardScaler(), ["g"]), ("p", "passthrough", ["b", "i"])]
    ),
    "dense categories": ColumnTransformer(
        [SCALED, ("o", OneHotEncoder(sparse_output=False), ["c", "s"])], remainder="passthrough"
    ),
    "sparse categories": ColumnTransformer([SCALED, ("o", OneHotEncoder(), ["c", "s"])]),
    "sparse result": ColumnTransformer(
        [SCALED, ("o", OneHotEncoder(), ["c", "s"])], sparse_threshold=1.0
    ),
    "codes": ColumnTransformer(
        [
            ("o", OrdinalEncoder(), ["c", "s"]),
            (
                "k",
                KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf"),
                ["f"],
            ),
            ("t", "drop", ["t"]),
            ("n", "passthrough", ["n"]),
        ],
        remainder=StandardScaler(),
    ),
    "selected by dtype": make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=np.floating)),
        (OrdinalEncoder(), ["s"]),
        remainder="passthrough",
    ),
    "chosen by functions": ColumnTransformer(
        [
            ("a", StandardScaler(), lambda X: ["f", "g"]),
            ("b", "passthrough", lambda X: ["t"]),
        ]
    ),
    "slices and places": ColumnTransformer(
        [("a", StandardScaler(), slice(0, 3)), ("b", "passthrough", [5, 6])]
    ),
    "components": ColumnTransformer(
        [("a", PCA(2, svd_solver="full"), NUMBERS), ("b", "passthrough", MIXED)]
    ),
    "functions": ColumnTransformer(
        [
            ("a", FunctionTransformer(lambda X: X * 2, feature_names_out="one-to-one"), NUMBERS),
            ("b", FunctionTransformer(), MIXED),
        ]
    ),
    "nested": ColumnTransformer(
        [
            ("a", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            (
                "b",
                ColumnTransformer([("x", "passthrough", ["i", "c"])], remainder="passthrough"),
                ["i", "c", "b", "t"],
            ),
        ]
    ),
    "union inside": ColumnTransformer(
        [
            (
                "a",
                FeatureUnion([("p", PCA(1, svd_solver="full")), ("s", StandardScaler())]),
                NUMBERS,
            )
        ],
        remainder="passthrough",
    ),
    "union": FeatureUnion(
        [("p", "passthrough"), ("q", FunctionTransformer(feature_names_out="one-to-one"))]
    ),
    "union of columns": FeatureUnion(
        [("p", "passthrough"), ("q", ColumnTransformer([("a", StandardScaler(), NUMBERS)]))]
    ),
    "union, short names": FeatureUnion(
        [
            ("q", ColumnTransformer([("a", StandardScaler(), NUMBERS)])),
            ("r", ColumnTransformer([("b", "passthrough", MIXED)])),
        ],
        verbose_feature_names_out=False,
    ),
    "union of pipelines": make_union(
        make_pipeline(ColumnTransformer([("b", "passthrough", ["i", "b"])]), MinMaxScaler()),
        ColumnTransformer([("b", "passthrough", ["c", "t"])]),
    ),
    "pipeline that passes": make_pipeline(
        ColumnTransformer([("a", StandardScaler(), NUMBERS), ("b", "passthrough", ["b", "i8"])]),
        "passthrough",
    ),
    "pipeline": make_pipeline(
        ColumnTransformer([("a", StandardScaler(), NUMBERS), ("b", "passthrough", ["b", "i8"])]),
        MinMaxScaler(),
        SelectKBest(k=2),
    ),
    "imputers": ColumnTransformer(
        [
            ("a", SimpleImputer(add_indicator=True), NUMBERS),
            ("k", KNNImputer(), ["f", "g"]),
            ("s", SimpleImputer(strategy="most_frequent"), ["c", "s"]),
        ]
    ),
    "selectors": ColumnTransformer(
        [
            ("a", VarianceThreshold(0.0), [*NUMBERS, "i8", "u"]),
            ("b", SelectKBest(k=1), ["i", "u"]),
            ("c", SelectFromModel(LinearRegression()), NUMBERS),
        ]
    ),
    "scalers": ColumnTransformer(
        [
            ("q", QuantileTransformer(n_quantiles=5), ["f"]),
            ("w", PowerTransformer(), ["g"]),
            ("r", RobustScaler(), ["i"]),
            ("y", PolynomialFeatures(2), ["f", "g"]),
            ("z", SplineTransformer(), ["f"]),
            ("n", Normalizer(), NUMBERS),
            ("m", MaxAbsScaler(), NUMBERS),
        ]
    ),
    "reductions": ColumnTransformer(
        [
            ("k", KMeans(2, random_state=0, n_init=1), NUMBERS),
            ("s", TruncatedSVD(1, random_state=0), NUMBERS),
        ]
    ),
}
PREDICTORS = {
    "columns": make_pipeline(
        ColumnTransformer([SCALED, ("o", OneHotEncoder(), ["c", "s"])]), Ridge()
    ),
    "target": TransformedTargetRegressor(
        make_pipeline(ColumnTransformer([SCALED]), Ridge()), transformer=StandardScaler()
    ),
    "vote": VotingRegressor(
        [("a", make_pipeline(ColumnTransformer([SCALED]), Ridge())), ("b", LinearRegression())]
    ),
    "vote of classes": VotingClassifier(
        [("a", make_pipeline(StandardScaler(), LogisticRegression())), ("b", LogisticRegression())],
        voting="soft",
    ),
    "stack": StackingRegressor(
        [("a", make_pipeline(ColumnTransformer([SCALED]), Ridge())), ("b", LinearRegression())],
        passthrough=True,
    ),
    "stack of classes": StackingClassifier(
        [("a", make_pipeline(StandardScaler(), LogisticRegression())), ("b", LogisticRegression())],
        passthrough=True,
    ),
    "search": GridSearchCV(
        make_pipeline(ColumnTransformer([SCALED]), Ridge()), {"ridge__alpha": [0.1, 1.0]}, cv=2
    ),
}


def same(found, wanted):
    """Assert that two results are of the same kind, dtypes, names and values."""
    assert type(found) is type(wanted)
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted, rtol=1e-5, atol=1e-8)
    elif isinstance(wanted, pl.DataFrame):
        assert found.schema == wanted.schema
        objects = [name for name, dtype in wanted.schema.items() if dtype == pl.Object]
        for name in objects:
            same_objects(found[name].to_list(), wanted[name].to_list())
        assert_frame_equal(found.drop(objects), wanted.drop(objects), rel_tol=1e-5)
    elif hasattr(wanted, "toarray"):
        assert found.format == wanted.format
        same(found.toarray(), wanted.toarray())
    elif wanted.dtype == object:
        assert found.shape == wanted.shape
        same_objects(found.ravel().tolist(), wanted.ravel().tolist())
    else:
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def same_objects(found, wanted):
    assert list(map(type, found)) == list(map(type, wanted))
    for one, other in zip(found, wanted, strict=True):
        assert one == other or abs(one - other) < 1e-5


def told(make):
    """Return what a function gives, or the text of its exception; and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = make()
        except Exception as error:  # noqa: BLE001 (compared with scikit-learn's)
            found = f"{type(error).__name__}: {error}"
    return found, sorted({str(w.message) for w in seen})


def transformed(estimator, table, output):
    """Return what a transformer makes of a table, by call."""
    y = np.arange(ROWS) % 2
    kind, everywhere = OUTPUTS[output]
    if kind and not everywhere:
        estimator.set_output(transform=kind)
    with config_context(transform_output=kind if everywhere else None):
        return {
            "fit_transform": told(lambda: estimator.fit_transform(table, y)),
            "transform": told(lambda: estimator.transform(table[:7])),
            "names": told(lambda: estimator.get_feature_names_out().tolist()),
        }


def ways(apart, monkeypatch):
    """Yield functions that accelerate an estimator, with a block each to use it in."""

    def refuse(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    if apart:
        monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    with npaccel.options(backend="eager"), contextlib.ExitStack() as stack:
        if apart:
            stack.enter_context(transfers.cpu_as_device())
        yield npaccel.sklearn.accelerate, contextlib.nullcontext()
        yield clone, npaccel.sklearn.accelerated()


@pytest.mark.sampled
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name, table, output, apart, monkeypatch):
    wanted = transformed(clone(TRANSFORMERS[name]), TABLES[table](), output)
    for accelerated, block in ways(apart, monkeypatch):
        with block:
            found = transformed(accelerated(TRANSFORMERS[name]), TABLES[table](), output)
        for call, (value, said) in wanted.items():
            mine, text = found[call]
            assert text == said, call
            if isinstance(value, str | list):
                assert mine == value
            else:
                same(mine, value)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", PREDICTORS)
def test_predictors(name, table, apart, monkeypatch):
    def ask(estimator):
        whole = TABLES[table]()
        wide = name in ("columns", "target", "search")
        X = whole if wide else whole[["f", "g", "i"]]
        y = whole["b"] if "classes" in name else whole["i"]
        estimator.fit(X, y)
        found = {"predict": estimator.predict(X[:9]), "names": estimator.feature_names_in_}
        if hasattr(estimator, "transform"):
            estimator.set_output(transform=table)
            found["transform"] = estimator.transform(X[:9])
        return found

    wanted = ask(clone(PREDICTORS[name]))
    for accelerated, block in ways(apart, monkeypatch):
        with block:
            found = ask(accelerated(PREDICTORS[name]))
        for call, value in wanted.items():
            same(found[call], value)


@pytest.mark.parametrize("method", ["fit_transform", "fit"])
@pytest.mark.parametrize("output", ["pandas", "polars", "pandas everywhere"])
@pytest.mark.parametrize("give", [np.asarray, torch.from_numpy], ids=["arrays", "tensors"])
@pytest.mark.parametrize(
    "estimator",
    [
        ColumnTransformer([("a", StandardScaler(), [0, 1])], remainder="passthrough"),
        make_union("passthrough", PCA(1, svd_solver="full")),
        make_pipeline(
            ColumnTransformer([("a", StandardScaler(), [0])], remainder=MinMaxScaler()),
            make_union(PCA(1, svd_solver="full"), "passthrough"),
        ),
    ],
    ids=["columns", "union", "pipeline"],
)
def test_tables_of_arrays_and_tensors(as_device, estimator, give, output, method):
    """Also parts that pass on what they get, which scikit-learn makes itself."""
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    kind, everywhere = OUTPUTS[output]

    def ask(one, X):
        if not everywhere:
            one.set_output(transform=kind)
        with config_context(transform_output=kind if everywhere else None):
            fitted = getattr(one, method)(X)
            return one.transform(X) if fitted is one else fitted

    wanted = ask(clone(estimator), X)
    same(ask(npaccel.sklearn.accelerate(estimator), give(X)), wanted)


def test_what_was_carried_has_numpys_dtype_or_torchs(as_device):
    """float32 beside int64 is float64 for arrays; tensors are put together as torch does."""
    X = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
    whole = FunctionTransformer(lambda X: X[:, :1].astype(np.int64))
    union = make_union(StandardScaler(), whole)
    mine = npaccel.sklearn.accelerate(union)
    same(mine.fit_transform(X), union.fit_transform(X))
    found = mine.fit_transform(torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float32
