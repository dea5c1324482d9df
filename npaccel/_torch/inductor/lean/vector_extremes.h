// Extremes with their positions, in vectors.
template <typename T, int N, int M> struct IndexValueVec {
    using Mask = at::vec::VecMask<int64_t, M>;
    at::vec::VectorizedN<T, N> value;
    at::vec::VectorizedN<int64_t, M> index;

    IndexValueVec() = default;
    IndexValueVec(T x) : value(x), index(0) {}

    void take(
        const Mask& is_kept, const at::vec::VectorizedN<T, N>& best,
        const at::vec::VectorizedN<int64_t, M>& at, int64_t count)
    {
        const auto found = at::vec::VectorizedN<int64_t, M>::blendv(at, index, is_kept);
        value = at::vec::VectorizedN<T, N>::set(value, best, count);
        index = at::vec::VectorizedN<int64_t, M>::set(index, found, count);
    }
    Mask keeps(
        const at::vec::VecMask<T, N>& is_better, const at::vec::VectorizedN<T, N>& other,
        const at::vec::VectorizedN<int64_t, M>& at) const
    {
        const auto wide = [](const at::vec::VectorizedN<T, N>& bits) {
            return at::vec::VecMask<T, N>(bits).template cast<int64_t, M>();
        };
        const Mask is_nan = wide(value != value), is_equal = wide(value == other);
        const Mask is_other_nan = wide(other != other), is_first(index < at);
        const Mask kept = Mask::blendv(
            is_better.template cast<int64_t, M>(), is_first, (is_nan & is_other_nan) | is_equal);
        return kept | (is_nan & ~is_other_nan);
    }
};
template <int M, bool horizontal> inline at::vec::VectorizedN<int64_t, M> positions_from(int64_t at)
{
    if constexpr (horizontal) return at::vec::VectorizedN<int64_t, M>::arange(at, 1);
    else return at::vec::VectorizedN<int64_t, M>(at);
}
#define LEAN_VECTOR_EXTREME(name, better, best) \
    template <typename T, int N, int M> \
    inline IndexValueVec<T, N, M>& name##_combine_vec( \
        IndexValueVec<T, N, M>& a, at::vec::VectorizedN<T, N> value, \
        at::vec::VectorizedN<int64_t, M> index, int64_t count = at::vec::VectorizedN<T, N>::size()) \
    { \
        const auto kept = a.keeps(at::vec::VecMask<T, N>(a.value better value), value, index); \
        a.take(kept, at::vec::best(a.value, value), index, count); \
        return a; \
    } \
    template <typename T, int N, int M, bool horizontal> \
    inline IndexValueVec<T, N, M>& name##_combine_vec( \
        IndexValueVec<T, N, M>& a, at::vec::VectorizedN<T, N> value, int64_t index, \
        int64_t count = at::vec::VectorizedN<T, N>::size()) \
    { \
        return name##_combine_vec<T, N, M>(a, value, positions_from<M, horizontal>(index), count); \
    } \
    template <typename T, int N, int M> \
    inline IndexValueVec<T, N, M>& name##_combine_vec( \
        IndexValueVec<T, N, M>& a, const IndexValueVec<T, N, M>& other) \
    { \
        return name##_combine_vec<T, N, M>(a, other.value, other.index); \
    } \
    template <typename T, int N, int M> \
    inline IndexValue<T> name##_vec_reduce_all(const IndexValueVec<T, N, M>& some) \
    { \
        constexpr int size = at::vec::VectorizedN<T, N>::size(); \
        T values[size]; \
        int64_t indices[at::vec::VectorizedN<int64_t, M>::size()]; \
        some.value.store(values); \
        some.index.store(indices); \
        IndexValue<T> found(indices[0], values[0]); \
        for (int i = 1; i < size; ++i) name##_combine(found, values[i], indices[i]); \
        return found; \
    }
LEAN_VECTOR_EXTREME(argmax, >, maximum)
LEAN_VECTOR_EXTREME(argmin, <, minimum)
