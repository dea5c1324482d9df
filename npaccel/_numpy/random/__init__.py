"""`numpy.random`: numbers that NumPy draws on the host, or the graph on a device.

In: calls of generators and of `numpy.random`. Out: inputs of the graph that NumPy draws before it
runs, or nodes that compute them.

`functions` declares the rows, `results` says what a draw gives before it's made, `device_rng` and
`philox` are ``rng="device"``. Read `functions` first.
"""
