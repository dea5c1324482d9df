// How AVX2 rounds, and takes square roots.
#define LEAN_ROUNDED(name, how) \
    inline Doubles rounded_##name(Doubles x) { return __builtin_ia32_roundpd256(x, how); } \
    inline Floats rounded_##name(Floats x) { return __builtin_ia32_roundps256(x, how); }
LEAN_ROUNDED(ceil, 10)
LEAN_ROUNDED(floor, 9)
LEAN_ROUNDED(round, 8)
LEAN_ROUNDED(trunc, 11)
#if defined(__clang__)
inline Doubles rounded_sqrt(Doubles x) { return __builtin_elementwise_sqrt(x); }
inline Floats rounded_sqrt(Floats x) { return __builtin_elementwise_sqrt(x); }
#else
inline Doubles rounded_sqrt(Doubles x) { return __builtin_ia32_sqrtpd256(x); }
inline Floats rounded_sqrt(Floats x) { return __builtin_ia32_sqrtps256(x); }
#endif
