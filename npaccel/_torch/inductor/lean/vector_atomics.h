// Additions of vectors that threads make to the same elements.
template <typename T, int M, int N> inline void atomic_add_vec(
    T* to, at::vec::VectorizedN<int64_t, M> index, at::vec::VectorizedN<T, N> x,
    int64_t count = at::vec::VectorizedN<int64_t, M>::size())
{
    constexpr int size = at::vec::VectorizedN<int64_t, M>::size();
    T values[size];
    int64_t places[size];
    x.store(values, size);
    index.store(places, size);
    for (int i = 0; i < count; ++i) atomic_add(to + places[i], values[i]);
}
