// Products and sums that are rounded once.
namespace at { namespace vec {
template <typename T> inline Vectorized<T> fmadd(
    const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c)
{
    return fused(a.values, b.values, c.values);
}
template <typename T, int N> inline VectorizedN<T, N> fmadd(
    const VectorizedN<T, N>& a, const VectorizedN<T, N>& b, const VectorizedN<T, N>& c)
{
    VectorizedN<T, N> found;
    for (int i = 0; i < N; ++i) found[i] = fmadd(a[i], b[i], c[i]);
    return found;
}
} }
