// C's functions: of one number, of two, and whether a number is of a kind.
#define LEAN_OF_ONE(name) \
    inline float name(float x) { return __builtin_##name##f(x); } \
    inline double name(double x) { return __builtin_##name(x); } \
    template <typename T> inline enable_if_t<is_integral_v<T>, double> name(T x) \
    { \
        return __builtin_##name(static_cast<double>(x)); \
    }
#define LEAN_OF_TWO(name) \
    template <typename T, typename U> inline auto name(T x, U y) \
    { \
        if constexpr (is_same_v<T, float> && is_same_v<U, float>) return __builtin_##name##f(x, y); \
        else return __builtin_##name(static_cast<double>(x), static_cast<double>(y)); \
    }
#define LEAN_OF_KIND(name) \
    template <typename T> inline bool name(T x) \
    { \
        if constexpr (is_floating_point_v<T>) return __builtin_##name(x); \
        else return __builtin_##name(static_cast<double>(x)); \
    }
#define LEAN_abs \
    inline float abs(float x) { return __builtin_fabsf(x); } \
    inline double abs(double x) { return __builtin_fabs(x); } \
    inline int abs(int x) { return __builtin_abs(x); } \
    inline long abs(long x) { return __builtin_labs(x); } \
    inline long long abs(long long x) { return __builtin_llabs(x); }
#define LEAN_frexp \
    inline float frexp(float x, int* n) { return __builtin_frexpf(x, n); } \
    inline double frexp(double x, int* n) { return __builtin_frexp(x, n); }
#define LEAN_ldexp \
    inline float ldexp(float x, int n) { return __builtin_ldexpf(x, n); } \
    inline double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
