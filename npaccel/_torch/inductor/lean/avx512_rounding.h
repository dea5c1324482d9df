// How AVX512 rounds, and takes square roots.
#define LEAN_ROUNDED(name, how) \
    inline Doubles rounded_##name(Doubles x) \
    { \
        return __builtin_ia32_rndscalepd_mask(x, how, x, -1, 4); \
    } \
    inline Floats rounded_##name(Floats x) \
    { \
        return __builtin_ia32_rndscaleps_mask(x, how, x, -1, 4); \
    }
LEAN_ROUNDED(ceil, 10)
LEAN_ROUNDED(floor, 9)
LEAN_ROUNDED(round, 8)
LEAN_ROUNDED(trunc, 11)
#ifdef __clang__
inline Doubles rounded_sqrt(Doubles x) { return __builtin_ia32_sqrtpd512(x, 4); }
inline Floats rounded_sqrt(Floats x) { return __builtin_ia32_sqrtps512(x, 4); }
#else
inline Doubles rounded_sqrt(Doubles x) { return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4); }
inline Floats rounded_sqrt(Floats x) { return __builtin_ia32_sqrtps512_mask(x, x, -1, 4); }
#endif
