"""`numpy.random`: numbers that NumPy draws on the host, or the graph on a device.

Read `functions` first; `device_rng` and `philox` are ``rng="device"``.
"""
