"""
Pipeline on a DataFrame
=======================

``npaccel.sklearn.accelerate`` takes a pipeline of scikit-learn and gives one that behaves as
that. Tables of pandas go in as ever; the report says of each step where it ran, and why.
"""

# %%
# A table, a pipeline
# -------------------
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import npaccel.sklearn

rng = np.random.default_rng(0)
values = rng.normal(size=(50_000, 12)) @ rng.normal(size=(12, 12))
table = pd.DataFrame(values, columns=[f"sensor {i}" for i in range(12)])
kind = (table["sensor 0"] + 0.5 * table["sensor 3"] ** 2 > 1.0).astype(int)

pipeline = make_pipeline(StandardScaler(), PCA(6, random_state=0), LogisticRegression())
begin = time.perf_counter()
pipeline.fit(table, kind)
sklearns = time.perf_counter() - begin

model = npaccel.sklearn.accelerate(pipeline).fit(table, kind)  # once, to import and compile
begin = time.perf_counter()
model.fit(table, kind)
ours = time.perf_counter() - begin
print(f"scikit-learn {1e3 * sklearns:.0f} ms, npaccel {1e3 * ours:.0f} ms")

# %%
# The same predictions
# --------------------
same = (model.predict(table) == pipeline.predict(table)).mean()
print(f"{100 * same:.2f} % of the predictions agree")
assert same > 0.999

parts = pipeline[:-1].transform(table.iloc[:3000])
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(parts[:, 0], parts[:, 1], c=model.predict(table.iloc[:3000]), s=4, cmap="coolwarm")
ax.set(xlabel="first component", ylabel="second component", title="3,000 rows, as predicted")

# %%
# Where each step ran
# -------------------
print(model.report_)
