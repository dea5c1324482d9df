"""The examples run on small inputs, and notice a wrong answer."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import npaccel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.inductor
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quickstart_prints_times_and_agrees(dtype, capsys):
    assert load("quickstart").main(["-n", "20_000", "--dtype", dtype, "--repeats", "3"]) == 0
    printed = capsys.readouterr().out
    for line in ("NumPy", "npaccel, first call", "npaccel, steady", "speed-up", "answers agree"):
        assert line in printed


def test_quickstart_reports_wrong_labels(monkeypatch, capsys):
    quickstart = load("quickstart")
    monkeypatch.setattr(
        quickstart, "compiled", lambda points, means: 1 - quickstart.nearest_mean(points, means)
    )
    assert quickstart.main(["-n", "1000"]) == 1
    assert "1,000 labels are wrong" in capsys.readouterr().out


def test_quickstart_forgives_ties_only():
    quickstart = load("quickstart")
    means = np.array([[0.0, 0.0], [2.0, 0.0]])
    points = np.array([[1.0, 5.0], [0.1, 0.0]])
    differing, wrong = quickstart.wrong_labels(points, means, np.array([0, 0]), np.array([1, 1]))
    assert (differing, wrong) == (2, 1)


@pytest.mark.inductor
def test_colour_quantisation_writes_two_pictures(tmp_path, capsys):
    example = load("colour_quantisation")
    arguments = ["--every", "16", "--colours", "4", "--out", str(tmp_path)]
    assert example.main(arguments) == 0
    assert "answers agree" in capsys.readouterr().out
    before = np.asarray(Image.open(tmp_path / "china-before.png"))
    after = np.asarray(Image.open(tmp_path / "china-after.png"))
    assert before.shape == after.shape
    assert len(np.unique(after.reshape(-1, 3), axis=0)) == 4
    assert np.abs(before.astype(int) - after).mean() < 40


def test_colour_quantisation_reports_a_wrong_step(monkeypatch, tmp_path, capsys):
    example = load("colour_quantisation")

    def slow_step(pixels, colours):
        labels, moved = example.step(pixels, colours)
        return labels, (colours + moved) / 2

    monkeypatch.setattr(example, "compiled_step", slow_step)
    arguments = ["--every", "32", "--colours", "4", "--limit", "5", "--out", str(tmp_path)]
    assert example.main(arguments) == 1
    assert "DIFFER" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scipy_signal_draws_the_rising_tone(dtype, tmp_path, capsys):
    example = load("scipy_signal")
    assert example.main(["--seconds", "1", "--dtype", dtype, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "48,000 samples" in printed
    assert "answers agree" in printed
    assert re.search(r"^scipy\.signal\.spectrogram +native", printed, re.MULTILINE)
    picture = np.asarray(Image.open(tmp_path / "spectrogram.png")).astype(int).sum(axis=2)
    rows = picture.shape[0] - 1 - picture.argmax(axis=0)  # the tone is the brightest
    passed = slice(len(rows) // 8, len(rows) * 5 // 8)  # between 1 and 9 kHz
    assert (np.diff(rows[passed]) >= 0).mean() > 0.9


def test_scipy_signal_reports_another_answer(monkeypatch, tmp_path, capsys):
    example = load("scipy_signal")
    monkeypatch.setattr(example.nsp.signal, "fftconvolve", lambda x, w, mode: x)
    assert example.main(["--seconds", "0.2", "--out", str(tmp_path)]) == 1
    assert "answers differ" in capsys.readouterr().out


def test_fit_many_curves_agrees(capsys):
    example = load("fit_many_curves")
    with npaccel.options(backend="eager"):
        assert example.main(["-n", "200", "--compared", "20"]) == 0
    printed = capsys.readouterr().out
    assert "200 curves" in printed
    assert "parameters agree" in printed


def test_fit_many_curves_reports_other_parameters(monkeypatch, capsys):
    example = load("fit_many_curves")
    monkeypatch.setattr(example, "fit", lambda t, y, start, iterations: start)
    assert example.main(["-n", "20", "--compared", "5"]) == 1
    assert "parameters differ" in capsys.readouterr().out


@pytest.mark.inductor
def test_sklearn_pipeline_prints_report_and_speed_up(capsys):
    assert load("sklearn_pipeline").main(["--rows", "2000", "--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    for line in ("scikit-learn", "speed-up", "StandardScaler.fit_transform", "agree"):
        assert line in printed


def test_sklearn_pipeline_reports_wrong_predictions(monkeypatch, capsys):
    example = load("sklearn_pipeline")
    timed = example.timed
    answers = iter([0, 0, 0, 1])

    def wrong(model, data):
        seconds, found = timed(model, data)
        return seconds, found + next(answers)

    monkeypatch.setattr(example, "timed", wrong)
    assert example.main(["--rows", "500", "--device", "cpu"]) == 1
    assert "of the predictions differ" in capsys.readouterr().out


def test_kmeans_pixels_draws_the_regions(tmp_path, capsys):
    example = load("kmeans_pixels")
    options = ["--every", "8", "--regions", "6", "--device", "cpu", "--out", str(tmp_path)]
    assert example.main(options) == 0
    printed = capsys.readouterr().out
    assert "the regions agree" in printed
    assert "KMeans.fit" in printed
    regions = np.asarray(Image.open(tmp_path / "flower-regions.png"))
    assert regions.shape == np.asarray(Image.open(tmp_path / "flower-before.png")).shape
    assert len(np.unique(regions.reshape(-1, 3), axis=0)) == 6


def test_kmeans_pixels_reports_other_regions(monkeypatch, tmp_path, capsys):
    example = load("kmeans_pixels")
    timed = example.timed

    def wrong(model, pixels):
        seconds, model = timed(model, pixels)
        if hasattr(model, "report_"):
            model.labels_ = np.zeros_like(model.labels_)
        return seconds, model

    monkeypatch.setattr(example, "timed", wrong)
    options = ["--every", "8", "--regions", "6", "--device", "cpu", "--out", str(tmp_path)]
    assert example.main(options) == 1
    assert "the regions differ" in capsys.readouterr().out


@pytest.mark.inductor
def test_dask_climate_draws_two_maps(tmp_path, capsys):
    pytest.importorskip("dask.array", reason="Dask isn't installed")
    assert load("dask_climate").main(["--gigabytes", "0.02", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "2 years" in printed
    assert "answers agree" in printed
    warm = np.asarray(Image.open(tmp_path / "climate-anomaly.png")).astype(int)
    assert warm[:60, :, 0].mean() > warm[150:210, :, 0].mean()  # most so at the poles


def test_dask_climate_reports_another_answer(monkeypatch, tmp_path, capsys):
    pytest.importorskip("dask.array", reason="Dask isn't installed")
    example = load("dask_climate")
    monkeypatch.setattr(example.npaccel, "jit", lambda f: lambda x: example.anomalies(x) * 1.1)
    assert example.main(["--gigabytes", "0.02", "--out", str(tmp_path)]) == 1
    assert "answers differ" in capsys.readouterr().out


@pytest.mark.inductor
def test_sharded_kmeans_agrees_in_one_process(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    arguments = ["--points", "20_000", "--clusters", "4", "--folder", str(tmp_path)]
    assert load("sharded_kmeans").main(arguments) == 0
    assert "answers agree" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_sharded_kmeans_reports_another_answer(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    example = load("sharded_kmeans")
    step = example.step

    def wrong(points, means):
        found, counts = step(points, means)
        return found * np.float32(1.1), counts

    monkeypatch.setattr(example.npaccel, "jit", lambda _, **options: wrong)
    assert example.main(["--points", "2000", "--folder", str(tmp_path)]) == 1
    assert "answers DIFFER" in capsys.readouterr().out


GALLERY = sorted((EXAMPLES / "gallery").glob("plot_*.py"))


def test_the_gallery_is_complete():
    assert len(GALLERY) >= 14


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_programs_draw_compare_and_tell_their_time(path):
    """The documentation's build runs them; here is looked at what they are made of."""
    text = path.read_text(encoding="utf-8")
    title, line = text.splitlines()[1:3]
    assert line == "=" * len(title)
    assert "plt.subplots" in text
    assert re.search(r"^assert |of the \w+ are NumPy's", text, re.MULTILINE)
    assert re.search(r"print\(f\"[^\"]* ms, npaccel ", text)


def test_an_equation_is_fitted_through_its_loop(tmp_path, capsys):
    path = tmp_path / "fit.png"
    assert load("fit_ode").main(["--backend", "eager", "--picture", str(path)]) == 0
    assert "true parameters are found" in capsys.readouterr().out
    assert np.asarray(Image.open(path)).std() > 10


def test_draws_are_those_of_their_density(capsys):
    assert load("hmc").main(["--backend", "eager", "--draws", "500"]) == 0
    assert "the draws are those of the density" in capsys.readouterr().out
