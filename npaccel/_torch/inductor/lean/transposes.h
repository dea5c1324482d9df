// Rows that become columns. ATen has its own way for other types.
template <typename T, bool atomic>
inline void transpose_mxn(const T* from, int64_t row, T* to, int64_t column, int m, int n)
{
    static_assert(sizeof(T) == 8 && !atomic);
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) to[j * column + i] = from[i * row + j];
}
template <typename T, int m, int n, bool atomic>
inline void transpose_mxn(const T* from, int64_t row, T* to, int64_t column)
{
    transpose_mxn<T, atomic>(from, row, to, column, m, n);
}
