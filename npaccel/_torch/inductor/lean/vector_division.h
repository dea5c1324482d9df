// Division as Python has it, in vectors: of integers lane by lane.
#define LEAN_OF_LANES(name) \
    template <typename T> \
    inline at::vec::Vectorized<T> name(const at::vec::Vectorized<T>& a, const at::vec::Vectorized<T>& b) \
    { \
        at::vec::Vectorized<T> found; \
        for (int i = 0; i < found.size(); ++i) \
            found.values[i] = name(static_cast<T>(a.values[i]), static_cast<T>(b.values[i])); \
        return found; \
    } \
    template <typename T, int N> inline at::vec::VectorizedN<T, N> name( \
        const at::vec::VectorizedN<T, N>& a, const at::vec::VectorizedN<T, N>& b) \
    { \
        at::vec::VectorizedN<T, N> found; \
        for (int i = 0; i < N; ++i) found[i] = name(a[i], b[i]); \
        return found; \
    }
LEAN_OF_LANES(floor_divide_integral)
LEAN_OF_LANES(remainder_integral)
