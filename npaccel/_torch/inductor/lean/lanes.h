// Lanes that change their type, and so their width.
namespace at { namespace vec {
// Elements of so many vectors of one type as so many of another. Numbers keep their values as they
// do in `static_cast`: not those of floats that become integers of fewer than 32 bits.
template <typename To, int n, typename From, int m>
inline VectorizedN<To, n> lanes_converted(const VectorizedN<From, m>& from)
{
    using T = typename Vectorized<To>::E;
    using F = typename Vectorized<From>::E;
    static_assert(
        !std::is_floating_point_v<F> || std::is_floating_point_v<T> ||
        (std::is_signed_v<T> && sizeof(T) >= 4));
    VectorizedN<To, n> found{};
    if constexpr (sizeof(T) == sizeof(F) && n == m) {
        for (int i = 0; i < n; ++i)
            found[i] = converted<typename Vectorized<To>::V>(from[i].values);
    } else if constexpr (sizeof(T) * 2 == sizeof(F) && m == 2 * n) {
        using Half = typename lanes_of<T, LEAN_BYTES / 2>::type;
        for (int i = 0; i < n; ++i)
            found[i] = counted<sizeof(T)>::template both<typename Vectorized<To>::V>(
                converted<Half>(from[2 * i].values),
                converted<Half>(from[2 * i + 1].values));
    } else if constexpr (sizeof(T) == 2 * sizeof(F) && n == 2 * m) {
        using Half = typename lanes_of<F, LEAN_BYTES / 2>::type;
        for (int i = 0; i < m; ++i) {
            found[2 * i] = converted<typename Vectorized<To>::V>(
                counted<sizeof(F)>::template half<Half, 0>(from[i].values));
            found[2 * i + 1] = converted<typename Vectorized<To>::V>(
                counted<sizeof(F)>::template half<Half, 1>(from[i].values));
        }
    } else if constexpr (n == 1 && m == 1 && sizeof(T) > sizeof(F)) {
        typename lanes_of<F, LEAN_BYTES * sizeof(F) / sizeof(T)>::type first;
        __builtin_memcpy(&first, &from[0].values, sizeof(first));
        found[0] = converted<typename Vectorized<To>::V>(first);
    } else if constexpr (n == 1 && m == 1) {
        using Part = typename lanes_of<T, LEAN_BYTES * sizeof(T) / sizeof(F)>::type;
        found[0] = counted<sizeof(T)>::template widened<typename Vectorized<To>::V>(
            converted<Part>(from[0].values));
    } else if constexpr (sizeof(F) == 8 && sizeof(T) < 4 && m == 2) {
        using Middle = std::conditional_t<
            std::is_floating_point_v<F>, float,
            std::conditional_t<std::is_signed_v<F>, int32_t, uint32_t>>;
        return lanes_converted<To, n>(lanes_converted<Middle, 1>(from));
    } else if constexpr (sizeof(T) == 8 && sizeof(F) < 4 && n == 2) {
        using Middle = std::conditional_t<std::is_signed_v<F>, int32_t, uint32_t>;
        return lanes_converted<To, n>(lanes_converted<Middle, 1>(from));
    } else {
        constexpr int count = std::min(found.size(), from.size());
        alignas(64) F before[from.size()];
        alignas(64) T after[found.size()];
        from.store(before);
        for (int i = 0; i < count; ++i) after[i] = static_cast<T>(before[i]);
        return VectorizedN<To, n>::loadu(after, count);
    }
    return found;
}
template <typename To, typename From> inline Vectorized<To> convert(const Vectorized<From>& from)
{
    return lanes_converted<To, 1>(VectorizedN<From, 1>(from))[0];
}
template <typename To, int n, typename From, int m>
inline std::conditional_t<n == 1, Vectorized<To>, VectorizedN<To, n>> convert(
    const VectorizedN<From, m>& from)
{
    return lanes_converted<To, n>(from);
}
} }
