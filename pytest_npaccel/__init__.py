"""A plugin for pytest: check every jitted function that a test suite calls.

``pytest --npaccel-check`` compares the first call of every signature with plain
NumPy: a difference fails the test. ``--npaccel-check-promotion`` lists operations
whose dtypes surprise. A package of its own, so that pytest doesn't import torch
where none of the options is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("npaccel")
    group.addoption(
        "--npaccel-check",
        action="store_true",
        help="compare every jitted function's first call per signature with plain NumPy",
    )
    group.addoption(
        "--npaccel-check-promotion",
        action="store_true",
        help="the same, and list operations of jitted functions whose dtypes surprise",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Switch verification on for the whole session."""
    promotion = bool(config.getoption("--npaccel-check-promotion"))
    if promotion or config.getoption("--npaccel-check"):
        config.pluginmanager.register(_Checks(promotion), "npaccel-checks")


class _Checks:
    """Checks of one session."""

    def __init__(self, promotion: bool) -> None:
        import npaccel
        from npaccel._verify import verification

        npaccel.config.verify = True
        verification.listeners.append(self._checked)
        self._promotion = promotion
        self._functions: dict[str, int] = {}
        self._differences = 0
        self._findings: dict[str, None] = {}

    def _checked(self, dispatcher: Any, values: Any, differences: Any) -> None:
        function = dispatcher.spec.function
        name = f"{function.__module__}.{function.__qualname__}"
        self._functions[name] = self._functions.get(name, 0) + 1
        self._differences += bool(differences)
        if self._promotion and not differences:
            from npaccel._check.promotion_report import report_of

            try:
                report = report_of(dispatcher, values)
            except Exception as error:  # noqa: BLE001 (the test itself will tell)
                self._findings.setdefault(f"{name}: can't be looked at: {error}")
            else:
                self._findings |= dict.fromkeys(map(str, report.surprises()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell what was checked."""
        terminalreporter.section("npaccel")
        terminalreporter.write_line(
            f"{sum(self._functions.values())} signatures of {len(self._functions)} functions "
            f"compared with NumPy, {self._differences} differ"
        )
        for text in self._findings:
            terminalreporter.write_line(text)

    def pytest_unconfigure(self) -> None:
        """Switch verification off."""
        import npaccel
        from npaccel._verify import verification

        verification.listeners.remove(self._checked)
        npaccel.config.verify = False
