"""How rows are called: random numbers, questions about dtypes, constants, index helpers."""

import numpy as np
from diff_inputs import (
    ARRAY_FORMS,
    FORMS,
    anything,
    literal,
    other,
)
from diff_spec import ONE, Spec, spec

# -- random numbers, which are NumPy's: through jit only

RANDOM = {
    "beta": "2.0, 3.0",
    "binomial": "5, 0.4",
    "chisquare": "2.0",
    "choice": "5",
    "dirichlet": "[1.0, 2.0]",
    "f": "2.0, 3.0",
    "gamma": "2.0",
    "geometric": "0.4",
    "hypergeometric": "5, 4, 3",
    "integers": "9",
    "logseries": "0.4",
    "multinomial": "5, [0.4, 0.6]",
    "multivariate_hypergeometric": "[3, 4], 5",
    "multivariate_normal": "[0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]",
    "negative_binomial": "5, 0.4",
    "noncentral_chisquare": "2.0, 1.0",
    "noncentral_f": "2.0, 3.0, 1.0",
    "pareto": "3.0",
    "power": "2.0",
    "randint": "9",
    "random_integers": "9",
    "standard_gamma": "2.0",
    "standard_t": "3.0",
    "triangular": "0.0, 1.0, 3.0",
    "vonmises": "0.0, 2.0",
    "wald": "1.0, 2.0",
    "weibull": "2.0",
    "zipf": "3.0",
}
OTHER_CALLS = {
    "permutation": "permutation(5)",
    "permuted": "permuted(np.arange(5))",
    "rand": "rand(2, 3)",
    "randn": "randn(2, 3)",
    "seed": "seed(3)",
}
OWNERS = {
    "Generator": "np.random.default_rng(3)",
    "RandomState": "np.random.RandomState(3)",
    "random": "np.random",
}
MAKERS = {
    "default_rng": "{name}(3).random(4)",
    "RandomState": "{name}(3).rand(4)",
    "SeedSequence": "np.random.default_rng({name}(3)).random(4)",
    "Generator": "{name}(np.random.PCG64(3)).random(4)",
    **dict.fromkeys(
        ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"),
        "np.random.Generator({name}(3)).random(4)",
    ),
}


def random_spec(name):
    """Return the spec of a random row: seeded, drawn from, and added to what is compiled."""
    owner, short = name.split(".")[-2:]
    if short in MAKERS:
        return Spec(text=MAKERS[short], forms=ONE)
    call = OTHER_CALLS.get(
        short, f"{short}({RANDOM.get(short, '')}{', ' if short in RANDOM else ''}size=4)"
    )
    if short in ("seed", "shuffle"):
        call = f"{short}({'3' if short == 'seed' else 'a'})"
        last = "; found = a + generator.random_sample(5)" if short == "seed" else "; found = a * 2"
        seeded = "np.random.seed(3); " if owner == "random" and short == "shuffle" else ""
        before = f"a = np.arange(5); generator = {OWNERS[owner]}; "
        return Spec(text=f"{before}{seeded}generator.{call}{last}", forms=ONE)
    seeded = "np.random.seed(3); " if owner == "random" else ""
    return Spec(text=f"{seeded}found = {OWNERS[owner]}.{call} * 2", forms=ONE)


# -- questions about dtypes

TYPE = literal("f4", "d", np.int32, np.dtype("u2"), bool, int, "F")
spec(
    "can_cast",
    TYPE,
    TYPE,
    keywords={"casting": literal("no", "equiv", "safe", "same_kind", "unsafe")},
    alone=("from_", "to"),
)
spec("promote_types", TYPE, TYPE, text="np.zeros(2, {name}({0}, {1}))", forms=ONE)
spec("issubdtype", TYPE, literal(np.floating, np.integer, np.number, float))
spec(
    "isdtype",
    literal(np.dtype("f4"), np.dtype("i2")),
    literal("integral", "real floating", ("bool", "numeric")),
)
spec("result_type", anything(), other, text="np.zeros(2, {name}({0}, {1}))")
spec("min_scalar_type", literal(1, 300, -5, 1.5), text="np.zeros(2, {name}({0}))", forms=ONE)
spec("common_type", anything(), text="np.zeros(2, {name}({0}))", forms=ARRAY_FORMS)
spec("iscomplexobj isrealobj")
spec("iterable", forms=ARRAY_FORMS)

# -- constants, types, index helpers

CONSTANTS = "pi e inf nan euler_gamma newaxis True_ False_ little_endian ScalarType typecodes"
ABSTRACT = """generic number integer signedinteger unsignedinteger inexact floating complexfloating
    flexible character"""
spec(CONSTANTS, text="({name}, {0} + 1)", forms=ONE)
spec("sctypeDict", text="np.zeros(2, {name}['int8']) + {0}[:1]", forms=ONE)
spec(
    ABSTRACT, text="(np.issubdtype({0}.dtype, {name}), isinstance({0}, {name}))", forms=ARRAY_FORMS
)
spec("ndarray ufunc", text="(isinstance({0}, {name}), {0} * 2)", forms=ARRAY_FORMS)
spec("dtype", literal("f4", "d", np.int32, bool), text="np.zeros(2, {name}({0}))", forms=ONE)
spec("finfo", literal(np.float32, "d", np.dtype("e"), "F"), text="{name}({0}).bits", forms=ONE)
spec("iinfo", literal(np.int32, "b", np.dtype("L")), text="{name}({0}).max", forms=ONE)
spec("isscalar", text="({name}({0}), {0})", forms=FORMS)
HELPER_KEY = literal(
    slice(0, 3), (slice(0, 2), slice(0, 3)), slice(0, 1, 5j), (slice(1, 4, 2), slice(0, 1, 3j))
)
spec("ogrid mgrid", HELPER_KEY, text="{name}[{0}]", forms=ONE)
JOINED = literal(slice(0, 4), (slice(0, 1, 5j), 2.0), (1, 2, 3), (0, slice(1, 9, 3)))
spec("r_ c_", JOINED, anything(1, 2), text="({name}[{0}], {name}[{1}, {1}])", forms=ARRAY_FORMS)
spec(
    "s_ index_exp",
    literal(0, slice(1, 2), (slice(None), Ellipsis), None),
    anything(2),
    text="{1}[{name}[{0}]]",
    forms=ARRAY_FORMS,
)
spec("errstate", text="with {name}(over='ignore'): found = np.exp({0})", forms=ARRAY_FORMS)
spec("printoptions", text="with {name}(precision=3): found = np.exp({0})", forms=ARRAY_FORMS)
