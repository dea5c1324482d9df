"""scikit-learn on tensors: one table of its estimators, and what carries data to the device.

``_table`` holds what npaccel declares of scikit-learn's names. ``estimator`` is the mixin of all
accelerated classes, ``_running`` takes their calls where they belong, and ``call_stack`` knows which
one is running and where. ``transfers`` is the one place that copies between host and device, and
``state`` gives attributes to their readers. The chapters are the device estimators.
"""
