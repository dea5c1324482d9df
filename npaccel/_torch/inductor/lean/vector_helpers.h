// What npaccel's own changes of Inductor's code call.
namespace npaccel {
template <typename M> inline void store_mask(const M& mask, bool* out, int64_t count)
{
    mask.store(out, count);
}
template <typename To, int N, typename M> inline auto mask_cast(const M& mask)
{
    return mask.template cast<To, N>();
}
inline at::vec::VecMask<float, 1> loaded_mask(const bool* from)
{
    return at::vec::VecMask<float, 1>::from(from);
}
template <typename V> inline V absolute(const V& x) { return x.abs(); }
template <typename I> using Floating = std::conditional_t<sizeof(I) == 8, double, float>;
template <typename I> inline at::vec::Vectorized<Floating<I>> floating(
    const at::vec::Vectorized<I>& x)
{
    return at::vec::convert<Floating<I>>(x);
}
template <typename I, int N> inline at::vec::VectorizedN<Floating<I>, N> floating(
    const at::vec::VectorizedN<I, N>& x)
{
    return at::vec::lanes_converted<Floating<I>, N>(x);
}
// The greatest or least of what was, x, and what comes, y: NaN where one is, or only where both are.
// The processor's instruction returns its second operand where one is NaN.
template <typename T>
inline at::vec::Vectorized<T> max_with(const at::vec::Vectorized<T>& x, const at::vec::Vectorized<T>& y)
{
    return y.values != y.values ? y.values : at::vec::greater(y.values, x.values);
}
template <typename T>
inline at::vec::Vectorized<T> min_with(const at::vec::Vectorized<T>& x, const at::vec::Vectorized<T>& y)
{
    return y.values != y.values ? y.values : at::vec::lesser(y.values, x.values);
}
template <typename T> inline at::vec::Vectorized<T> max_of_numbers(
    const at::vec::Vectorized<T>& x, const at::vec::Vectorized<T>& y)
{
    return y.values != y.values ? x.values : at::vec::greater(x.values, y.values);
}
template <typename T> inline at::vec::Vectorized<T> min_of_numbers(
    const at::vec::Vectorized<T>& x, const at::vec::Vectorized<T>& y)
{
    return y.values != y.values ? x.values : at::vec::lesser(x.values, y.values);
}
#define LEAN_FOLD_OF_SOME(name) \
    template <typename T, int N> inline at::vec::VectorizedN<T, N> name( \
        const at::vec::VectorizedN<T, N>& x, const at::vec::VectorizedN<T, N>& y) \
    { \
        at::vec::VectorizedN<T, N> found; \
        for (int i = 0; i < N; ++i) found[i] = name(x[i], y[i]); \
        return found; \
    }
LEAN_FOLD_OF_SOME(max_with)
LEAN_FOLD_OF_SOME(min_with)
LEAN_FOLD_OF_SOME(max_of_numbers)
LEAN_FOLD_OF_SOME(min_of_numbers)
}
