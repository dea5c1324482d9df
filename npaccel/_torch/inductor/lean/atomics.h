// Additions that threads make to the same elements.
template <typename T> inline void atomic_add(volatile T* to, T x)
{
    if constexpr (std::is_integral_v<T>) {
        __atomic_fetch_add(to, x, __ATOMIC_RELAXED);
    } else {
        using Bits = std::make_unsigned_t<T>;
        volatile Bits* bits = reinterpret_cast<volatile Bits*>(to);
        Bits before = __atomic_load_n(bits, __ATOMIC_RELAXED), after;
        do after = c10::bit_cast<Bits>(c10::bit_cast<T>(before) + x);
        while (!__atomic_compare_exchange_n(
            bits, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    }
}
