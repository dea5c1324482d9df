"""scikit-learn on tensors: one table of its estimators, and what carries data to the device.

``_table`` holds what npaccel declares of scikit-learn's names. ``_device`` is the mixin of all
accelerated classes, ``_running`` takes their calls where they belong, and ``_frames`` knows which
one is running and where. ``_crossings`` is the one place that copies between host and device, and
``_state`` gives attributes to their readers. The chapters are the device estimators.
"""
