"""The store on disk: compiled signatures, and the compiler's own files.

In: files with a key and metadata. Out: entries whose contents are checked, or nothing.

`store` is the interface, `entry` one entry and its index, `layout` says where things lie.
`secure_files` refuses what another user could have written, `sealed_files` vouches for what the
compiler leaves, `room` looks whether a disk has space. What fails means a warning and no cache,
never an error. Read `store` first.
"""
