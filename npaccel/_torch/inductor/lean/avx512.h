// What AVX512's instructions are asked for by the compiler's names of them.
typedef double Doubles __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
typedef int Ints __attribute__((vector_size(64)));
typedef long long Longs __attribute__((vector_size(64)));
typedef short Shorts __attribute__((vector_size(64)));
typedef char Bytes __attribute__((vector_size(64)));
#ifdef __clang__
using ShortPlace = Shorts;
using BytePlace = Bytes;
inline Doubles greater(Doubles a, Doubles b) { return __builtin_ia32_maxpd512(a, b, 4); }
inline Floats greater(Floats a, Floats b) { return __builtin_ia32_maxps512(a, b, 4); }
inline Doubles lesser(Doubles a, Doubles b) { return __builtin_ia32_minpd512(a, b, 4); }
inline Floats lesser(Floats a, Floats b) { return __builtin_ia32_minps512(a, b, 4); }
#else
using ShortPlace = short;
using BytePlace = char;
inline Doubles greater(Doubles a, Doubles b) { return __builtin_ia32_maxpd512_mask(a, b, a, -1, 4); }
inline Floats greater(Floats a, Floats b) { return __builtin_ia32_maxps512_mask(a, b, a, -1, 4); }
inline Doubles lesser(Doubles a, Doubles b) { return __builtin_ia32_minpd512_mask(a, b, a, -1, 4); }
inline Floats lesser(Floats a, Floats b) { return __builtin_ia32_minps512_mask(a, b, a, -1, 4); }
#endif
inline Longs unordered(Doubles a, Doubles b)
{
    return (Longs)__builtin_ia32_cvtmask2q512(__builtin_ia32_cmppd512_mask(a, b, 3, -1, 4));
}
inline Ints unordered(Floats a, Floats b)
{
    return (Ints)__builtin_ia32_cvtmask2d512(__builtin_ia32_cmpps512_mask(a, b, 3, -1, 4));
}
template <typename V> inline bool any_lane(V v)
{
    return __builtin_ia32_cmpd512_mask((Ints)v, Ints{}, 4, -1) != 0;
}
inline uint64_t first_lanes(int64_t count) { return (uint64_t(1) << count) - 1; }
template <int size> struct loaded;
template <int size> struct counted;
template <> struct loaded<8> {
    typedef int64_t VI __attribute__((vector_size(64)));
    static VI load(const void* from, int64_t count, VI others)
    {
        return (VI)__builtin_ia32_loaddqudi512_mask(
            static_cast<const long long*>(from), (Longs)others, first_lanes(count));
    }
    static void store(void* to, VI v, int64_t count)
    {
        __builtin_ia32_storedqudi512_mask(
            static_cast<long long*>(to), (Longs)v, first_lanes(count));
    }
};
template <> struct loaded<4> {
    typedef int32_t VI __attribute__((vector_size(64)));
    static VI load(const void* from, int64_t count, VI others)
    {
        return (VI)__builtin_ia32_loaddqusi512_mask(
            static_cast<const int*>(from), (Ints)others, first_lanes(count));
    }
    static void store(void* to, VI v, int64_t count)
    {
        __builtin_ia32_storedqusi512_mask(
            static_cast<int*>(to), (Ints)v, first_lanes(count));
    }
};
template <> struct loaded<2> {
    typedef int16_t VI __attribute__((vector_size(64)));
    static VI load(const void* from, int64_t count, VI others)
    {
        return (VI)__builtin_ia32_loaddquhi512_mask(
            static_cast<const ShortPlace*>(from), (Shorts)others, first_lanes(count));
    }
    static void store(void* to, VI v, int64_t count)
    {
        __builtin_ia32_storedquhi512_mask(
            static_cast<ShortPlace*>(to), (Shorts)v, first_lanes(count));
    }
};
template <> struct loaded<1> {
    typedef int8_t VI __attribute__((vector_size(64)));
    static VI load(const void* from, int64_t count, VI others)
    {
        return (VI)__builtin_ia32_loaddquqi512_mask(
            static_cast<const BytePlace*>(from), (Bytes)others, first_lanes(count));
    }
    static void store(void* to, VI v, int64_t count)
    {
        __builtin_ia32_storedquqi512_mask(
            static_cast<BytePlace*>(to), (Bytes)v, first_lanes(count));
    }
};
inline Doubles fused(Doubles a, Doubles b, Doubles c)
{
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
}
inline Floats fused(Floats a, Floats b, Floats c)
{
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
}
inline int zeros(Doubles x) { return __builtin_ia32_cmppd512_mask(x, Doubles{}, 0, -1, 4); }
inline int zeros(Floats x) { return __builtin_ia32_cmpps512_mask(x, Floats{}, 0, -1, 4); }

// Lanes of another type. GCC writes some conversions of whole registers by halves, or lane by lane.
template <typename T, int bytes> struct lanes_of {
    typedef T type __attribute__((vector_size(bytes)));
};
template <typename To, typename From> inline To converted(From v)
{
#ifndef __clang__
    using T = std::decay_t<decltype(To{}[0])>;
    using F = std::decay_t<decltype(v[0])>;
    constexpr bool is_integer = std::is_integral_v<T> && std::is_integral_v<F>;
    constexpr bool is_signed = std::is_signed_v<F>;
    constexpr int narrow = sizeof(From) == 64 && is_integer ? sizeof(F) * 10 + sizeof(T) : 0;
    constexpr int wide = sizeof(To) == 64 && is_integer ? sizeof(F) * 10 + sizeof(T) : 0;
    using Ints32 = lanes_of<int, 32>::type;
    using Shorts32 = lanes_of<short, 32>::type;
    using Bytes32 = lanes_of<char, 32>::type;
    using Bytes16 = lanes_of<char, 16>::type;
    if constexpr (narrow == 84) return (To)__builtin_ia32_pmovqd512_mask((Longs)v, Ints32{}, -1);
    else if constexpr (narrow == 42)
        return (To)__builtin_ia32_pmovdw512_mask((Ints)v, Shorts32{}, -1);
    else if constexpr (narrow == 41)
        return (To)__builtin_ia32_pmovdb512_mask((Ints)v, Bytes16{}, -1);
    else if constexpr (narrow == 21)
        return (To)__builtin_ia32_pmovwb512_mask((Shorts)v, Bytes32{}, -1);
    else if constexpr (wide == 48 && is_signed)
        return (To)__builtin_ia32_pmovsxdq512_mask((Ints32)v, Longs{}, -1);
    else if constexpr (wide == 48)
        return (To)__builtin_ia32_pmovzxdq512_mask((Ints32)v, Longs{}, -1);
    else if constexpr (wide == 24 && is_signed)
        return (To)__builtin_ia32_pmovsxwd512_mask((Shorts32)v, Ints{}, -1);
    else if constexpr (wide == 24)
        return (To)__builtin_ia32_pmovzxwd512_mask((Shorts32)v, Ints{}, -1);
    else if constexpr (wide == 14 && is_signed)
        return (To)__builtin_ia32_pmovsxbd512_mask((Bytes16)v, Ints{}, -1);
    else if constexpr (wide == 14)
        return (To)__builtin_ia32_pmovzxbd512_mask((Bytes16)v, Ints{}, -1);
    else if constexpr (sizeof(To) == 64 && std::is_same_v<T, double> && std::is_same_v<F, int>)
        return __builtin_ia32_cvtdq2pd512_mask((Ints32)v, To{}, -1);
    else if constexpr (sizeof(To) == 64 && std::is_same_v<T, double> && std::is_same_v<F, float>)
        return __builtin_ia32_cvtps2pd512_mask(v, To{}, -1, 4);
    else if constexpr (sizeof(To) == 32 && std::is_same_v<T, float> && std::is_same_v<F, double>)
        return __builtin_ia32_cvtpd2ps512_mask(v, To{}, -1, 4);
    else
#endif
        return __builtin_convertvector(v, To);
}
