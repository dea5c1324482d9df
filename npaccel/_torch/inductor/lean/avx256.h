// What AVX2's instructions are asked for by the compiler's names of them.
typedef double Doubles __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));
typedef int Ints __attribute__((vector_size(32)));
typedef long long Longs __attribute__((vector_size(32)));
inline Doubles greater(Doubles a, Doubles b) { return __builtin_ia32_maxpd256(a, b); }
inline Floats greater(Floats a, Floats b) { return __builtin_ia32_maxps256(a, b); }
inline Doubles lesser(Doubles a, Doubles b) { return __builtin_ia32_minpd256(a, b); }
inline Floats lesser(Floats a, Floats b) { return __builtin_ia32_minps256(a, b); }
inline Longs unordered(Doubles a, Doubles b) { return (Longs)__builtin_ia32_cmppd256(a, b, 3); }
inline Ints unordered(Floats a, Floats b) { return (Ints)__builtin_ia32_cmpps256(a, b, 3); }
template <typename V> inline bool any_lane(V v)
{
    return !__builtin_ia32_ptestz256((Longs)v, (Longs)v);
}
inline Doubles fused(Doubles a, Doubles b, Doubles c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
inline Floats fused(Floats a, Floats b, Floats c) { return __builtin_ia32_vfmaddps256(a, b, c); }
inline int zeros(Doubles x) { return __builtin_ia32_movmskpd256((Doubles)(x == 0)); }
inline int zeros(Floats x) { return __builtin_ia32_movmskps256((Floats)(x == 0)); }
template <int size> struct counted;
template <int size> struct loaded {
    typedef typename std::integer_of<size>::type VI __attribute__((vector_size(32)));
    static VI load(const void* from, int64_t count, VI others)
    {
        __builtin_memcpy(&others, from, count * size);
        return others;
    }
    static void store(void* to, VI v, int64_t count) { __builtin_memcpy(to, &v, count * size); }
};

// Lanes of another type.
template <typename T, int bytes> struct lanes_of {
    typedef T type __attribute__((vector_size(bytes)));
};
template <typename To, typename From> inline To converted(From v)
{
    return __builtin_convertvector(v, To);
}
