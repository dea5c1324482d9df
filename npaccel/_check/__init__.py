"""Answer what users ask about a function: whether it's right, how precise, where dtypes surprise.

In: a function and arguments. Out: a result that prints as a table.

`check` compares with NumPy, `precision_audit` with more digits, `promotion_report` with what NumPy
1 promoted to, `transfers` watches copies between host and device. Read `check` first.
"""
