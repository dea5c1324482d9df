// Two vectors of pairs as one of first parts and one of second parts, and back.
namespace at { namespace vec {
template <typename T> inline std::pair<Vectorized<T>, Vectorized<T>> deinterleave2(
    const Vectorized<T>& a, const Vectorized<T>& b)
{
    return {counted<sizeof(T)>::first_parts(a.values, b.values),
            counted<sizeof(T)>::second_parts(a.values, b.values)};
}
template <typename T> inline std::pair<Vectorized<T>, Vectorized<T>> interleave2(
    const Vectorized<T>& a, const Vectorized<T>& b)
{
    return {counted<sizeof(T)>::first_pairs(a.values, b.values),
            counted<sizeof(T)>::second_pairs(a.values, b.values)};
}
} }
