// Reductions in vectors.
namespace at { namespace vec {
template <typename T, int N, typename F, typename Some>
inline T vec_reduce_all(const F& combine, const Some& some)
{
    const VectorizedN<T, N> found(some);
    Vectorized<T> one = found[0];
    for (int i = 1; i < N; ++i) one = combine(one, const_cast<Vectorized<T>&>(found[i]));
    return counted<sizeof(T)>::reduced(one, combine).values[0];
}
} }
namespace npaccel {
template <typename T, int N, typename F, typename Some>
inline T lanes_reduced(const F& combine, const Some& some)
{
    return at::vec::vec_reduce_all<T, N>(combine, some);
}
}
#define LEAN_OF_TAIL(name, value, bits) \
    template <typename T> inline T name(const T& a, const T& b, int64_t count) \
    { \
        return T::set(a, value, count); \
    } \
    template <typename T, int N> \
    inline at::vec::VecMask<T, N> name( \
        const at::vec::VecMask<T, N>& a, const at::vec::VecMask<T, N>& b, int64_t count) \
    { \
        return at::vec::VecMask<T, N>::set(a, bits, count); \
    }
LEAN_OF_TAIL(sum_masked_reduce, a + b, a | b)
LEAN_OF_TAIL(prod_masked_reduce, a * b, a & b)
LEAN_OF_TAIL(max_masked_reduce, at::vec::maximum(a, b), a | b)
LEAN_OF_TAIL(min_masked_reduce, at::vec::minimum(a, b), a & b)
LEAN_OF_TAIL(xor_sum_masked_reduce, a ^ b, a ^ b)
LEAN_OF_TAIL(any_masked_reduce, a | b, a | b)
