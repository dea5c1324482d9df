// What reductions combine with.
template <typename T> inline T max_propagate_nan(T a, T b)
{
    if (a != a) return a;
    return a > b ? a : b;
}
template <typename T> inline T min_propagate_nan(T a, T b)
{
    if (a != a) return a;
    return a < b ? a : b;
}
