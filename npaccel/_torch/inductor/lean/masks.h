// Truth values in lanes: all bits of a lane are set, or none.
namespace at { namespace vec {
template <typename T, int N> struct VecMask;
// A mask's bits as integers of as many lanes.
template <typename T, int N> using MaskBits =
    VectorizedN<std::make_signed_t<typename Vectorized<T>::E>, N>;
template <typename T, int N> struct VecMask {
    using size_type = int;
    using Some = VectorizedN<T, N>;
    using I = typename Vectorized<T>::I;
    static constexpr int size() { return Some::size(); }

    Some mask;

    VecMask() : mask{} {}
    VecMask(const Some& bits) : mask(bits) {}
    template <int n = N, std::enable_if_t<n == 1, int> = 0>
    VecMask(const Vectorized<T>& bits) : mask(bits) {}
    operator Some() const { return mask; }
    template <int n = N, std::enable_if_t<n == 1, int> = 0> operator Vectorized<T>() const
    {
        return mask[0];
    }
    Vectorized<T> operator[](int i) const { return mask[i]; }

    MaskBits<T, N> bits() const
    {
        MaskBits<T, N> found;
        for (int i = 0; i < N; ++i) found[i] = mask[i].bits();
        return found;
    }
    static VecMask of(const MaskBits<T, N>& bits)
    {
        VecMask found;
        for (int i = 0; i < N; ++i) found.mask[i] = (typename Vectorized<T>::V)bits[i].values;
        return found;
    }
    template <typename U, int L> VecMask<U, L> cast() const
    {
        using J = typename Vectorized<U>::I;
        if constexpr (sizeof(I) == sizeof(J) && N == L) {
            VecMask<U, L> found;
            for (int i = 0; i < N; ++i)
                found.mask[i] = (typename Vectorized<U>::V)mask[i].values;
            return found;
        } else return VecMask<U, L>::of(lanes_converted<J, L>(bits()));
    }
    template <typename U, int L> static VecMask from(const VectorizedN<U, L>& values)
    {
        VecMask<U, L> found;
        for (int i = 0; i < L; ++i) found.mask[i] = values[i] != Vectorized<U>(U(0));
        return found.template cast<T, N>();
    }
    template <typename U, int L> static VecMask from(const Vectorized<U>& values)
    {
        return from(VectorizedN<U, 1>(values));
    }
    template <typename U> static VecMask from(U value)
    {
        return of(MaskBits<T, N>(static_cast<I>(value ? -1 : 0)));
    }
    template <typename U> static VecMask from(U* values) { return from(values, size()); }
    template <typename U> static VecMask from(U* values, int64_t count)
    {
        static_assert(std::is_same_v<std::decay_t<U>, bool> && size() <= LEAN_BYTES);
        using B = typename lanes_of<int8_t, size()>::type;
        B loaded{};
        if (count == size()) __builtin_memcpy(&loaded, values, sizeof(loaded));
        else __builtin_memcpy(&loaded, values, count);
        loaded = loaded != 0;
        if constexpr (4 * size() == LEAN_BYTES) {
            using Lanes = Vectorized<int32_t>;
            const Lanes lanes = converted<typename Lanes::V>(loaded);
            return of(lanes_converted<I, N>(VectorizedN<int32_t, 1>(lanes)));
        } else {
            VectorizedN<int8_t, 1> lanes{};
            __builtin_memcpy(&lanes[0].values, &loaded, sizeof(loaded));
            return of(lanes_converted<I, N>(lanes));
        }
    }
    static VecMask blendv(const VecMask& a, const VecMask& b, const VecMask& mask)
    {
        return Some::blendv(a.mask, b.mask, mask.mask);
    }
    static VecMask set(const VecMask& a, const VecMask& b, int64_t count = size())
    {
        return Some::set(a.mask, b.mask, count);
    }
    template <typename U, int L>
    std::conditional_t<L == 1, Vectorized<U>, VectorizedN<U, L>> to() const
    {
        const VecMask<U, L> wanted = cast<U, L>();
        VectorizedN<U, L> found;
        for (int i = 0; i < L; ++i) {
            found[i] = Vectorized<U>(U(1)) & wanted.mask[i];
        }
        return found;
    }
    void store(bool* to, int64_t count = size()) const
    {
        if constexpr (LEAN_BYTES == 64 && size() == 16) {
            using B = typename lanes_of<int8_t, size()>::type;
            const B bytes = -converted<B>(lanes_converted<int32_t, 1>(bits())[0].values);
            if (count == size()) __builtin_memcpy(to, &bytes, sizeof(bytes));
            else if (count > 0) __builtin_memcpy(to, &bytes, count);
        } else {
            alignas(64) I lanes[size()];
            bits().store(lanes);
            _Pragma("omp simd") for (int i = 0; i < count; ++i) to[i] = lanes[i] != 0;
        }
    }
    bool is_masked(int i) const
    {
        I lanes[size()];
        mask.store(lanes);
        return lanes[i] != 0;
    }
    bool all_zero() const
    {
        auto found = mask[0].bits();
        for (int i = 1; i < N; ++i) found |= mask[i].bits();
        return !any_lane(found);
    }
    bool all_masked() const { return (~*this).all_zero(); }
    template <typename U, int L>
    std::conditional_t<L == 1, Vectorized<U>, VectorizedN<U, L>> loadu(const U* from) const
    {
        const VecMask<U, L> wanted = cast<U, L>();
        VectorizedN<U, L> found;
        for (int i = 0; i < L; ++i)
            found[i] = loaded_where(from + i * Vectorized<U>::size(), wanted.mask[i]);
        return found;
    }
};
template <typename T>
inline Vectorized<T> loaded_where(const T* from, const Vectorized<T>& mask)
{
    typename Vectorized<T>::I lanes[Vectorized<T>::size()];
    T found[Vectorized<T>::size()];
    mask.store(lanes);
    for (int i = 0; i < Vectorized<T>::size(); ++i) found[i] = lanes[i] ? from[i] : T(0);
    return Vectorized<T>::loadu(found);
}
template <typename T, int N> inline VecMask<T, N> operator~(const VecMask<T, N>& a)
{
    return ~a.mask;
}
#define LEAN_OF_MASKS(name, expression) \
    template <typename T, int N, typename U, int L> \
    inline VecMask<T, N> operator name(const VecMask<T, N>& a, const VecMask<U, L>& other) \
    { \
        const VecMask<T, N> b = other.template cast<T, N>(); \
        return expression; \
    }
LEAN_OF_MASKS(&, a.mask & b.mask)
LEAN_OF_MASKS(|, a.mask | b.mask)
LEAN_OF_MASKS(^, a.mask ^ b.mask)
LEAN_OF_MASKS(*, a.mask & b.mask)
LEAN_OF_MASKS(>, a.mask & ~b.mask)
LEAN_OF_MASKS(<, ~a.mask & b.mask)
LEAN_OF_MASKS(==, ~(a.mask ^ b.mask))
LEAN_OF_MASKS(!=, a.mask ^ b.mask)
LEAN_OF_MASKS(>=, a.mask | ~b.mask)
LEAN_OF_MASKS(<=, ~a.mask | b.mask)
} }

template <typename U, int L, typename T, int N>
inline at::vec::VecMask<U, L> inductor_vec_mask_cast(const at::vec::VecMask<T, N>& mask)
{
    return mask.template cast<U, L>();
}
template <typename U, int L, int N>
inline at::vec::VecMask<U, L> inductor_vec_mask_cast(const at::vec::VectorizedN<bool, N>& values)
{
    return at::vec::VecMask<U, L>::from(values);
}
template <typename U, int L>
inline at::vec::VecMask<U, L> inductor_vec_mask_cast(const at::vec::Vectorized<bool>& values)
{
    return at::vec::VecMask<U, L>::from(values);
}
