// Vectors of a register's width, by the compiler's extension, as ATen has them.
namespace at { namespace vec {
template <typename T> struct element { using type = T; };
template <> struct element<bool> { using type = uint8_t; };
template <typename T> struct Vectorized {
    using value_type = T;
    using size_type = int;
    using E = typename element<T>::type;
    using I = std::make_signed_t<E>;
    using U = std::make_unsigned_t<E>;
    typedef E V __attribute__((vector_size(LEAN_BYTES)));
    typedef I VI __attribute__((vector_size(LEAN_BYTES)));
    typedef U VU __attribute__((vector_size(LEAN_BYTES)));
    static constexpr int size() { return LEAN_BYTES / sizeof(E); }
    static constexpr bool is_floating = std::is_floating_point_v<T>;

    V values;

    Vectorized() : values{} {}
    Vectorized(V v) : values(v) {}
    Vectorized(T x) : values(counted<sizeof(E)>::template broadcast<V>(static_cast<E>(x))) {}
    operator V() const { return values; }
    VI bits() const { return (VI)values; }

    static VI positions() { return (VI)counted<sizeof(E)>::positions; }
    static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask)
    {
        return mask.bits() != 0 ? b.values : a.values;
    }
    template <typename S> static Vectorized arange(T base, S step)
    {
        if constexpr (is_floating) {
            T lanes[size()];
            for (int i = 0; i < size(); ++i) lanes[i] = base + i * step;
            return loadu(lanes);
        } else {
            const V steps = Vectorized(static_cast<T>(step)).values;
            return Vectorized(base).values + (V)positions() * steps;
        }
    }
    static Vectorized set(const Vectorized& a, const Vectorized& b, int64_t count = size())
    {
        return positions() < Vectorized<I>(static_cast<I>(count)).values ? b.values : a.values;
    }
    static Vectorized loadu(const void* from)
    {
        V v;
        __builtin_memcpy(&v, from, sizeof(v));
        return v;
    }
    static Vectorized loadu(const void* from, int64_t count)
    {
        if (count == size()) return loadu(from);
        return (V)counted<sizeof(E)>::load(from, count, is_floating ? VI{} : VI{} + 1);
    }
    void store(void* to) const { __builtin_memcpy(to, &values, sizeof(values)); }
    void store(void* to, int64_t count) const
    {
        if (count == size()) store(to);
        else if (count > 0) counted<sizeof(E)>::store(to, (VI)values, count);
    }

    friend Vectorized operator+(const Vectorized& a, const Vectorized& b)
    {
        return a.values + b.values;
    }
    friend Vectorized operator-(const Vectorized& a, const Vectorized& b)
    {
        return a.values - b.values;
    }
    friend Vectorized operator*(const Vectorized& a, const Vectorized& b)
    {
        return a.values * b.values;
    }
    friend Vectorized operator/(const Vectorized& a, const Vectorized& b)
    {
        return a.values / b.values;
    }
    friend Vectorized operator&(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.bits() & b.bits());
    }
    friend Vectorized operator|(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.bits() | b.bits());
    }
    friend Vectorized operator^(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.bits() ^ b.bits());
    }
    friend Vectorized operator~(const Vectorized& a) { return (V)~a.bits(); }
    friend Vectorized operator==(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.values == b.values);
    }
    friend Vectorized operator!=(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.values != b.values);
    }
    friend Vectorized operator<(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.values < b.values);
    }
    friend Vectorized operator<=(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.values <= b.values);
    }
    friend Vectorized operator>(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.values > b.values);
    }
    friend Vectorized operator>=(const Vectorized& a, const Vectorized& b)
    {
        return (V)(a.values >= b.values);
    }
    Vectorized abs() const
    {
        if constexpr (is_floating) return (V)(bits() & std::numeric_limits<I>::max());
        else if constexpr (std::is_signed_v<E>) return values < 0 ? -values : values;
        else return values;
    }
    Vectorized neg() const
    {
        if constexpr (is_floating) return (V)(bits() ^ std::numeric_limits<I>::min());
        else return -values;
    }
    Vectorized isnan() const { return *this != *this; }
    int zero_mask() const { return zeros(values); }
    Vectorized reciprocal() const { return Vectorized(T(1)).values / values; }
    Vectorized copysign(const Vectorized& sign) const
    {
        constexpr I bit = std::numeric_limits<I>::min();
        return (V)((bits() & ~bit) | (sign.bits() & bit));
    }
    LEAN_METHODS_OF_ONE
};
template <typename T> inline Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b)
{
    if constexpr (Vectorized<T>::is_floating) {
        using VI = typename Vectorized<T>::VI;
        using V = typename Vectorized<T>::V;
        const V found = greater(a.values, b.values);
        return (V)((VI)found | (VI)unordered(a.values, b.values));
    } else return a.values > b.values ? a.values : b.values;
}
template <typename T> inline Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b)
{
    if constexpr (Vectorized<T>::is_floating) {
        using VI = typename Vectorized<T>::VI;
        using V = typename Vectorized<T>::V;
        const V found = lesser(a.values, b.values);
        return (V)((VI)found | (VI)unordered(a.values, b.values));
    } else return a.values < b.values ? a.values : b.values;
}
template <typename T> inline Vectorized<T> operator<<(const Vectorized<T>& a, const Vectorized<T>& b)
{
    using V = typename Vectorized<T>::V;
    using VU = typename Vectorized<T>::VU;
    constexpr typename Vectorized<T>::U width = 8 * sizeof(T);
    return (VU)b.values < width ? a.values << (V)((VU)b.values & (width - 1)) : V{};
}
template <typename T> inline Vectorized<T> operator>>(const Vectorized<T>& a, const Vectorized<T>& b)
{
    using V = typename Vectorized<T>::V;
    using VU = typename Vectorized<T>::VU;
    constexpr typename Vectorized<T>::U width = 8 * sizeof(T);
    const V rest = std::is_signed_v<T> ? a.values >> (width - 1) : V{};
    return (VU)b.values < width ? a.values >> (V)((VU)b.values & (width - 1)) : rest;
}
template <typename T> inline Vectorized<T> operator%(const Vectorized<T>& a, const Vectorized<T>& b)
{
    return a.values % b.values;
}

// Some of them.
template <typename T, int N> struct VectorizedN {
    using value_type = T;
    using size_type = int;
    using One = Vectorized<T>;
    static constexpr int size() { return One::size() * N; }

    One parts[N];

    VectorizedN() = default;
    explicit VectorizedN(T x)
    {
        for (int i = 0; i < N; ++i) parts[i] = One(x);
    }
    template <int n = N, std::enable_if_t<n == 1, int> = 0>
    VectorizedN(const One& one) : parts{one} {}
    template <int n = N, std::enable_if_t<n == 2, int> = 0>
    VectorizedN(const One& first, const One& second) : parts{first, second} {}
    template <int n = N, std::enable_if_t<n == 1, int> = 0> operator One() const
    {
        return parts[0];
    }
    const One& operator[](int i) const { return parts[i]; }
    One& operator[](int i) { return parts[i]; }

    template <typename F> VectorizedN unary_op(F f) const
    {
        VectorizedN found;
        for (int i = 0; i < N; ++i) found[i] = f(parts[i]);
        return found;
    }
    template <typename F> VectorizedN binary_op(const VectorizedN& other, F f) const
    {
        VectorizedN found;
        for (int i = 0; i < N; ++i) found[i] = f(parts[i], other[i]);
        return found;
    }
    static VectorizedN blendv(
        const VectorizedN& a, const VectorizedN& b, const VectorizedN& mask)
    {
        VectorizedN found;
        for (int i = 0; i < N; ++i) found[i] = One::blendv(a[i], b[i], mask[i]);
        return found;
    }
    template <typename S> static VectorizedN arange(T base, S step)
    {
        VectorizedN found;
        for (int i = 0; i < N; ++i) {
            found[i] = One::arange(base, step);
            base += step * One::size();
        }
        return found;
    }
    static int64_t count_of(int64_t count, int i)
    {
        return std::min(count - i * One::size(), static_cast<int64_t>(One::size()));
    }
    static VectorizedN set(const VectorizedN& a, const VectorizedN& b, int64_t count = size())
    {
        VectorizedN found = a;
        for (int i = 0; i < N; ++i)
            if (count_of(count, i) > 0) found[i] = One::set(a[i], b[i], count_of(count, i));
        return found;
    }
    static VectorizedN loadu(const void* from)
    {
        VectorizedN found;
        for (int i = 0; i < N; ++i)
            found[i] = One::loadu(static_cast<const T*>(from) + i * One::size());
        return found;
    }
    static VectorizedN loadu(const void* from, int64_t count)
    {
        VectorizedN found(T(1));
        for (int i = 0; i < N; ++i)
            if (count_of(count, i) > 0)
                found[i] =
                    One::loadu(static_cast<const T*>(from) + i * One::size(), count_of(count, i));
        return found;
    }
    void store(void* to) const
    {
        for (int i = 0; i < N; ++i) parts[i].store(static_cast<T*>(to) + i * One::size());
    }
    void store(void* to, int64_t count) const
    {
        for (int i = 0; i < N; ++i)
            if (count_of(count, i) > 0)
                parts[i].store(static_cast<T*>(to) + i * One::size(), count_of(count, i));
    }
    VectorizedN abs() const { return unary_op([](const One& x) { return x.abs(); }); }
    VectorizedN neg() const { return unary_op([](const One& x) { return x.neg(); }); }
    VectorizedN isnan() const { return *this != *this; }
    VectorizedN reciprocal() const
    {
        return unary_op([](const One& x) { return x.reciprocal(); });
    }
    VectorizedN copysign(const VectorizedN& sign) const
    {
        return binary_op(sign, [](const One& x, const One& y) { return x.copysign(y); });
    }
    LEAN_METHODS_OF_SOME
};
#define LEAN_OF_SOME(name) \
    template <typename T, int N> \
    inline VectorizedN<T, N> name(const VectorizedN<T, N>& a, const VectorizedN<T, N>& b) \
    { \
        VectorizedN<T, N> found; \
        for (int i = 0; i < N; ++i) found[i] = name(a[i], b[i]); \
        return found; \
    }
LEAN_OF_SOME(operator+)
LEAN_OF_SOME(operator-)
LEAN_OF_SOME(operator*)
LEAN_OF_SOME(operator/)
LEAN_OF_SOME(operator%)
LEAN_OF_SOME(operator&)
LEAN_OF_SOME(operator|)
LEAN_OF_SOME(operator^)
LEAN_OF_SOME(operator<<)
LEAN_OF_SOME(operator>>)
LEAN_OF_SOME(operator==)
LEAN_OF_SOME(operator!=)
LEAN_OF_SOME(operator<)
LEAN_OF_SOME(operator<=)
LEAN_OF_SOME(operator>)
LEAN_OF_SOME(operator>=)
LEAN_OF_SOME(maximum)
LEAN_OF_SOME(minimum)
template <typename T, int N> inline VectorizedN<T, N> operator~(const VectorizedN<T, N>& a)
{
    VectorizedN<T, N> found;
    for (int i = 0; i < N; ++i) found[i] = ~a[i];
    return found;
}
} }
