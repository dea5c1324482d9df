"""Calls of binary morphology and of what is computed by label in `scipy.ndimage`."""

_CROSS = "np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])"

_BINARY = [
    "mask",
    "image > 0, kernel2 > -1",
    "image > -1, iterations=2",
    "image > -1, border_value=1",
    "labels, [[1, 1], [0, 1]]",
    "image > 0, [[1, 0, 0], [0, 1, 0]], origin=(0, 1)",
    "image > 0, [[1, 0, 0], [0, 1, 0]], 3, border_value=1",
    "image > -1, iterations=3, brute_force=True",
    "cube > 0, axes=(0, 2)",
    "cube > -1, kernel2 > 0, axes=(0, 2), origin=(1, 0)",
    "integers > 2",
    "image > 0, output=xp.zeros_like(mask)",
    "image > 0, output=xp.zeros_like(image)",
    "image > -1, mask=mask",
    "image > -1, iterations=2, mask=mask",
    "image > -1, iterations=-1",
    "zero_d",
]
_ONE = ["image", "image, labels", "image, labels, 2", "labels", "labels, mask", "booleans"]
_MANY = [
    "image, labels, [1, 2, 3]",
    "labels, labels, index=[3, 1, 7, 1]",
    "image, labels, range(4)",
]
_MANY += ["image, mask, [0, 1]", "cube, 1 * (cube > 0), [1, 0]", "image, labels - 2, [-1, 0, 5]"]
_MANY += ["image, 0.5 * labels, [0.5, 1.0, 0.7]", "image, labels, counts[:2, :2]"]
_MANY += ["x, integers, [2, 3, 4]", "image, labels[:, :1], xp.arange(4)"]

CALLS = {
    "ndimage.binary_erosion": _BINARY,
    "ndimage.binary_dilation": _BINARY,
    "ndimage.binary_opening": _BINARY,
    "ndimage.binary_closing": _BINARY,
    "ndimage.binary_hit_or_miss": [
        "mask",
        "mask, kernel2 > 0",
        "mask, kernel2 > 0, kernel2 < -0.5, origin1=1",
        "mask, [[1, 0], [0, 1]], origin2=(0, -1)",
        "labels, structure2=kernel2 < -0.5",
        "cube > 0, axes=(0, 1)",
        "mask, output=xp.zeros_like(mask)",
    ],
    "ndimage.binary_propagation": [
        "mask",
        "mask & (image > 0), mask=mask",
        "mask & (image > 0), kernel2 > -5, mask",
        "mask & (image > 1), mask=image > -1, border_value=1",
        "cube > 1, mask=cube > -1, axes=(0, 1)",
    ],
    "ndimage.binary_fill_holes": [
        "image > -0.5",
        "mask",
        "labels, kernel2 > -5",
        "cube > 0",
        "image > -0.5, output=xp.zeros_like(mask)",
    ],
    "ndimage.iterate_structure": [
        "kernel2 > 0, 1",
        "kernel2 > 0, 3",
        "kernel2 > 0, 2, origin=1",
        "mask[:2, :3], 4, (0, -1)",
    ],
    "ndimage.label": [
        "mask",
        "labels",
        "mask, xp.ones_like(kernel2)",
        "cube > 0",
        "image > 0, output='int64'",
        "image > 0, output=xp.zeros_like(labels)",
        "image > 0, [[0, 0, 1], [0, 1, 0], [1, 0, 0]]",
        "integers > 4",
        "empty",
        "zero_d",
    ],
    "ndimage.find_objects": ["labels", "labels, 5"],
    "ndimage.value_indices": ["labels", "labels, ignore_value=0"],
    "ndimage.labeled_comprehension": [
        "image, labels, [1, 2], np.mean, float, 0",
        "image, labels, 3, np.max, float, -1",
    ],
    "ndimage.watershed_ift": [
        "(10 * image).astype(np.uint8) if xp is np else (10 * image).to(xp.int64).to(xp.uint8), "
        "labels * mask"
    ],
    "ndimage.sum_labels": [*_MANY, *_ONE, "with_nan, integers, [1, 2, 3]", "z", "z, integers, 3"],
    "ndimage.sum": [*_MANY, *_ONE],
    "ndimage.mean": [*_MANY, *_ONE, "with_nan, integers, [1, 2, 3]", "z", "image, labels, 9"],
    "ndimage.variance": [*_MANY, *_ONE, "z", "image, labels, 9"],
    "ndimage.standard_deviation": [*_MANY, *_ONE],
    "ndimage.center_of_mass": [*_MANY, "image", "image, labels", "image, labels, 2", "labels"],
    "ndimage.minimum": [*_MANY, *_ONE, "with_nan", "with_nan, integers, [1, 2, 3]"],
    "ndimage.maximum": [*_MANY, *_ONE, "with_nan", "with_nan, integers, [1, 2, 3]"],
    "ndimage.median": [*_MANY, *_ONE, "with_nan", "with_nan, integers, [1, 2, 3]", "x[:9]"],
    "ndimage.minimum_position": [
        "image, labels, [1, 2, 3]",
        "image",
        "image, labels",
        "image, labels, 2",
        "cube, 1 * (cube > 0), [1, 0]",
        "x, integers, [1, 2, 30]",
        "labels",
    ],
    "ndimage.maximum_position": [
        "image, labels, [1, 2, 3]",
        "image",
        "image, labels",
        "image, labels, 2",
        "cube, 1 * (cube > 0), [1, 0]",
        "x, integers, [1, 2, 30]",
        "labels",
    ],
    "ndimage.extrema": [
        "image, labels, [1, 2, 3]",
        "image",
        "image, labels",
        "image, labels, 2",
        "x, integers, [1, 2, 30]",
    ],
    "ndimage.histogram": [
        "image, -2, 2, 10",
        "image, -2, 2, 10, labels",
        "image, -2, 2, 10, labels, 2",
        "labels, 0, 3, 3",
        "with_nan, -1, 1, 4",
        "special, -1, 1, 4",
    ],
}
ERRORS = {
    "ndimage.binary_erosion": [
        "mask, kernel",
        "mask, iterations=1.5",
        "mask, origin=3",
        "mask, mask=x",
        "complex_square",
    ],
    "ndimage.binary_dilation": ["mask, kernel2[:0]", "mask, axes=(0, 0)"],
    "ndimage.binary_hit_or_miss": ["mask, kernel"],
    "ndimage.binary_fill_holes": ["mask, kernel"],
    "ndimage.label": ["mask, kernel", "z", "mask, [[1, 1, 1], [0, 1, 0], [0, 0, 0]]"],
    "ndimage.sum_labels": ["image, x, [1, 2]", "z, integers, [1, 2]"],
    "ndimage.minimum": ["image, labels, 9", "empty"],
    "ndimage.maximum": ["image, labels, 9"],
    "ndimage.median": ["image, x, [1, 2]"],
    "ndimage.minimum_position": ["image, labels, 9"],
    "ndimage.histogram": ["image, 0, 1, 4, None, 1"],
}
_UNTIL = ["image > -1, iterations=-1"]
READS = {
    **{f"ndimage.binary_{name}": _UNTIL for name in ("erosion", "dilation", "opening", "closing")},
    "ndimage.binary_propagation": CALLS["ndimage.binary_propagation"],
    "ndimage.binary_fill_holes": CALLS["ndimage.binary_fill_holes"],
    "ndimage.label": CALLS["ndimage.label"],
}
