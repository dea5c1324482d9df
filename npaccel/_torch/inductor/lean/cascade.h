// Sums of sums, each of so many numbers.
template <typename T, uint64_t chunk> struct CascadeSumHelper {
    static constexpr int most = 64;
    uint64_t depth = 0, chunks = 0, index = 0;
    T sums[most];

    explicit CascadeSumHelper(uint64_t count)
    {
        for (uint64_t n = (count + chunk - 1) / chunk; depth < 64 && (uint64_t(1) << depth) < n;)
            ++depth;
        for (uint64_t i = 0; i < std::max<uint64_t>(depth, 1); ++i) sums[i] = T(0);
    }
    T carried()
    {
        if (depth == 0 || ++index != chunk) return sums[0];
        index = 0;
        uint64_t done = ++chunks, i = 1;
        for (; i < depth && (done & 1) == 0; ++i, done >>= 1) {
            sums[i] = sums[i] + sums[i - 1];
            sums[i - 1] = T(0);
        }
        return sums[i - 1];
    }
};
template <typename T, uint64_t chunk>
inline T cascade_sum_combine(const T& x, CascadeSumHelper<T, chunk>* helper)
{
    helper->sums[0] = helper->sums[0] + x;
    return helper->carried();
}
template <typename T, uint64_t chunk>
inline T cascade_sum_combine(const T& x, int64_t count, CascadeSumHelper<T, chunk>* helper)
{
    helper->sums[0] = T::set(helper->sums[0], helper->sums[0] + x, count);
    return helper->carried();
}
template <typename T, uint64_t chunk> inline T cascade_sum_final(CascadeSumHelper<T, chunk>* helper)
{
    T found = helper->sums[0];
    for (uint64_t i = 1; i < helper->depth; ++i) found = found + helper->sums[i];
    return found;
}
