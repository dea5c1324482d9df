"""Programs whose functions read something besides their arguments, and what rebinds it.

Each is the source of a module: ``f`` is jitted, takes an array of three numbers, and reads what
``rebind`` gives another value of two.
"""

import textwrap

_HEAD = "import numpy as np\nimport npaccel\n"

#: By the kind of what is read.
PROGRAMS = {
    "global": """
        K = 4.0
        def f(a): return a * 0 + K
        def rebind(new):
            global K
            K = 0.5 if new else 4.0
        """,
    "branch": """
        K = 1
        def f(a):
            if K:
                return a + 1
            return a - 1
        def rebind(new):
            global K
            K = 0 if new else 1
        """,
    "closure": """
        def make():
            k = 4.0
            def f(a): return a * 0 + k
            def rebind(new):
                nonlocal k
                k = 0.5 if new else 4.0
            return f, rebind
        f, rebind = make()
        """,
    "attribute": """
        class Model:
            def __init__(self): self.k = 4.0
        model = Model()
        def f(a): return a * 0 + model.k
        def rebind(new): model.k = 0.5 if new else 4.0
        """,
    "object": """
        class Model:
            def __init__(self, k): self.k = k
        model = Model(4.0)
        def f(a): return a * 0 + model.k
        def rebind(new):
            global model
            model = Model(0.5 if new else 4.0)
        """,
    "kind of object": """
        class Plus:
            def apply(self, a): return a + 1
        class Minus:
            def apply(self, a): return a - 1
        model = Plus()
        def f(a): return model.apply(a)
        def rebind(new):
            global model
            model = Minus() if new else Plus()
        """,
    "argument's attribute": """
        class Model:
            def __init__(self): self.k = 4.0
        model = Model()
        def f(a, model=model): return a * 0 + model.k
        def rebind(new): model.k = 0.5 if new else 4.0
        """,
    "argument's items": """
        weights = [1.0, 2.0]
        def f(a, weights=weights): return a * 0 + weights[-1]
        def rebind(new): weights[:] = [1.0, 2.0, 3.0] if new else [1.0, 2.0]
        """,
    "argument's array": """
        class Model:
            def __init__(self): self.k = np.arange(3.0)
        model = Model()
        def f(a, model=model): return a + model.k
        def rebind(new): model.k = np.full((2, 3), 9.0) if new else np.arange(3.0)
        """,
    "dict value": """
        SETTINGS = {"k": 4.0, "other": 1}
        def f(a): return a * 0 + SETTINGS["k"]
        def rebind(new): SETTINGS["k"] = 0.5 if new else 4.0
        """,
    "dict key": """
        SETTINGS = {"other": 1}
        def f(a): return a + (5 if "k" in SETTINGS else 7)
        def rebind(new):
            if new:
                SETTINGS["k"] = 1
            else:
                SETTINGS.pop("k", None)
        """,
    "dict keys": """
        WEIGHTS = {"x": 1.0, "y": 2.0}
        def f(a):
            total = a * 0
            for name in WEIGHTS:
                total = total + WEIGHTS[name]
            return total
        def rebind(new):
            global WEIGHTS
            WEIGHTS = {"x": 1.0, "y": 2.0} | ({"z": 4.0} if new else {})
        """,
    "list": """
        WEIGHTS = [1.0, 2.0]
        def f(a): return a * 0 + sum(WEIGHTS) + len(WEIGHTS)
        def rebind(new): WEIGHTS[:] = [1.0, 2.0, 3.0] if new else [1.0, 2.0]
        """,
    "list item": """
        WEIGHTS = [1.0, 2.0]
        def f(a): return a * 0 + WEIGHTS[1]
        def rebind(new): WEIGHTS[1] = 8.0 if new else 2.0
        """,
    "set": """
        CHOSEN = {"x"}
        def f(a): return a + (5 if "y" in CHOSEN else 7)
        def rebind(new):
            if new:
                CHOSEN.add("y")
            else:
                CHOSEN.discard("y")
        """,
    "tuple": """
        SHAPE = (1, 3)
        def f(a): return a.reshape(SHAPE) + np.ones(SHAPE)
        def rebind(new):
            global SHAPE
            SHAPE = (3, 1) if new else (1, 3)
        """,
    "text": """
        MODE = "plus"
        def f(a): return a + 1 if MODE == "plus" else a - 1
        def rebind(new):
            global MODE
            MODE = "minus" if new else "plus"
        """,
    "none": """
        OFFSET = None
        def f(a): return a if OFFSET is None else a + OFFSET
        def rebind(new):
            global OFFSET
            OFFSET = 3.0 if new else None
        """,
    "dtype": """
        DTYPE = np.float64
        def f(a): return np.ones(3, dtype=DTYPE) + a.astype(DTYPE)
        def rebind(new):
            global DTYPE
            DTYPE = np.float32 if new else np.float64
        """,
    "helper": """
        def plus(a): return a + 1
        def minus(a): return a - 1
        helper = plus
        def f(a): return helper(a)
        def rebind(new):
            global helper
            helper = minus if new else plus
        """,
    "helper's global": """
        import types
        other = types.ModuleType("rebound_other")
        exec("K = 4.0\\ndef helper(a): return a * 0 + K", other.__dict__)
        helper = other.helper
        def f(a): return helper(a)
        def rebind(new): other.K = 0.5 if new else 4.0
        """,
    "helper's code": """
        def plus(a): return a + 1
        def minus(a): return a - 1
        def helper(a): return a + 1
        def f(a): return helper(a)
        def rebind(new): helper.__code__ = (minus if new else plus).__code__
        """,
    "helper's default": """
        def helper(a, k=4.0): return a * 0 + k
        def f(a): return helper(a)
        def rebind(new): helper.__defaults__ = (0.5 if new else 4.0,)
        """,
    "helper's keyword default": """
        def helper(a, *, k=4.0): return a * 0 + k
        def f(a): return helper(a)
        def rebind(new): helper.__kwdefaults__["k"] = 0.5 if new else 4.0
        """,
    "module's attribute": """
        import types
        settings = types.ModuleType("rebound_settings")
        settings.K = 4.0
        def f(a): return a * 0 + settings.K
        def rebind(new): settings.K = 0.5 if new else 4.0
        """,
    "class's attribute": """
        class Settings:
            k = 4.0
        def f(a): return a * 0 + Settings.k
        def rebind(new): Settings.k = 0.5 if new else 4.0
        """,
    "method": """
        class Model:
            def apply(self, a): return a + 1
        def plus(self, a): return a + 1
        def minus(self, a): return a - 1
        model = Model()
        def f(a): return model.apply(a)
        def rebind(new): Model.apply = minus if new else plus
        """,
    "method of a subclass": """
        class Base:
            def apply(self, a): return a + 1
        class Model(Base):
            pass
        def minus(self, a): return a - 1
        model = Model()
        def f(a): return model.apply(a)
        def rebind(new):
            if new:
                Model.apply = minus
            elif "apply" in Model.__dict__:
                del Model.apply
        """,
    "property": """
        class Model:
            @property
            def k(self): return 4.0
        model = Model()
        def f(a): return a * 0 + model.k
        def rebind(new): Model.k = property(lambda self: 0.5 if new else 4.0)
        """,
    "presence of an attribute": """
        class Model:
            pass
        model = Model()
        def f(a): return a + (5 if hasattr(model, "k") else 7)
        def rebind(new):
            if new:
                model.k = 1
            elif hasattr(model, "k"):
                del model.k
        """,
    "NumPy scalar": """
        K = np.float32(4)
        def f(a): return a * 0 + K
        def rebind(new):
            global K
            K = np.float64(0.5) if new else np.float32(4)
        """,
    "array": """
        K = np.arange(3.0)
        def f(a): return a + K
        def rebind(new):
            global K
            K = np.full((2, 3), 9.0) if new else np.arange(3.0)
        """,
    "dtype of an array": """
        K = np.arange(3, dtype=np.int32)
        def f(a): return a + K / 2
        def rebind(new):
            global K
            K = np.full(3, 9.0) if new else np.arange(3, dtype=np.int32)
        """,
    "array's data": """
        K = np.arange(3.0)
        def f(a): return a + K
        def rebind(new): K[...] = 9.0 if new else [0.0, 1.0, 2.0]
        """,
    "arrays in a list": """
        K = [np.ones(3)]
        def f(a):
            for k in K:
                a = a + k
            return a
        def rebind(new): K[:] = [np.ones(3), np.full(3, 5.0)] if new else [np.ones(3)]
        """,
    "default of a function that is made": """
        K = 4.0
        def f(a):
            def inner(b, k=K): return b * 0 + k
            return inner(a)
        def rebind(new):
            global K
            K = 0.5 if new else 4.0
        """,
    "loop": """
        K = 4.0
        def f(a):
            b = a * 0
            for i in range(len(a)):
                b[i] = a[i] * 0 + K
            return b
        def rebind(new):
            global K
            K = 0.5 if new else 4.0
        """,
    "loop of steps": """
        K = 4.0
        STEPS = 3
        def f(a):
            for i in range(STEPS):
                a = np.sin(a) + K
            return a
        def rebind(new):
            global K, STEPS
            K, STEPS = (0.5, 5) if new else (4.0, 3)
        """,
    "recurrence": """
        K = 4.0
        def f(a):
            s = 0.0
            for x in a:
                s = s * K + x if s < 100 else s - K
            return s
        def rebind(new):
            global K
            K = 0.5 if new else 4.0
        """,
    "after a break": """
        K = 4.0
        def f(a):
            b = a + 1
            print(end="")
            return b * 0 + K
        def rebind(new):
            global K
            K = 0.5 if new else 4.0
        """,
    "two reads": """
        K = 4.0
        def one(a): return a * 0 + K
        def f(a):
            for _ in (1, 2, 3):
                a = np.sqrt(one(a)) + K
            return a
        def rebind(new):
            global K
            K = 0.5 if new else 4.0
        """,
}


def source(kind, options):
    """Return the source of a program's module; ``plain`` is the function as NumPy runs it."""
    tail = f"\nplain = f\nf = npaccel.jit({options})(f)\n"
    return _HEAD + textwrap.dedent(PROGRAMS[kind]) + tail
