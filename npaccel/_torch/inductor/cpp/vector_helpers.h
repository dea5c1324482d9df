// What kernels call that are built with torch's headers; lean/vector_helpers.h has the same for
// those without.
#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)
namespace npaccel {
// Stores truth values in one loop, which the C++ compiler turns into two or three instructions.
template <typename M> inline void store_mask(const M& mask, bool* out, int count)
{
    using Lanes = std::decay_t<decltype(mask[0])>;
    using T = typename Lanes::value_type;
    using Bits = std::conditional_t<sizeof(T) == 8, int64_t, std::conditional_t<sizeof(T) == 4,
        int32_t, std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;
    constexpr int size = M::size();
    alignas(64) T lanes[size];
    for (int i = 0; i < size / Lanes::size(); ++i) mask[i].store(lanes + i * Lanes::size());
    alignas(64) Bits bits[size];
    std::memcpy(bits, lanes, sizeof(bits));
    _Pragma("omp simd")
    for (int i = 0; i < count; ++i) out[i] = bits[i] != 0;
}

// Lanes in the places of their neighbours, so many bytes away.
#if defined(CPU_CAPABILITY_AVX512)
using Whole = __m512i;
template <int bytes> inline Whole swapped(Whole x)
{
    if constexpr (bytes == 32) return _mm512_shuffle_i64x2(x, x, 0x4E);
    else if constexpr (bytes == 16) return _mm512_shuffle_i64x2(x, x, 0xB1);
    else if constexpr (bytes == 8) return _mm512_permutex_epi64(x, 0xB1);
    else if constexpr (bytes == 4)
        return _mm512_or_si512(_mm512_slli_epi64(x, 32), _mm512_srli_epi64(x, 32));
    else if constexpr (bytes == 2)
        return _mm512_or_si512(_mm512_slli_epi32(x, 16), _mm512_srli_epi32(x, 16));
    else return _mm512_or_si512(_mm512_slli_epi16(x, 8), _mm512_srli_epi16(x, 8));
}
#else
using Whole = __m256i;
template <int bytes> inline Whole swapped(Whole x)
{
    if constexpr (bytes == 16) return _mm256_permute2x128_si256(x, x, 1);
    else if constexpr (bytes == 8) return _mm256_permute4x64_epi64(x, 0xB1);
    else if constexpr (bytes == 4)
        return _mm256_or_si256(_mm256_slli_epi64(x, 32), _mm256_srli_epi64(x, 32));
    else if constexpr (bytes == 2)
        return _mm256_or_si256(_mm256_slli_epi32(x, 16), _mm256_srli_epi32(x, 16));
    else return _mm256_or_si256(_mm256_slli_epi16(x, 8), _mm256_srli_epi16(x, 8));
}
#endif
template <int bytes, typename F, typename L> inline L halved(const F& combine, L one)
{
    using T = typename L::value_type;
    if constexpr (bytes < static_cast<int>(sizeof(T))) return one;
    else {
        Whole whole;
        std::memcpy(&whole, &one, sizeof(whole));
        whole = swapped<bytes>(whole);
        L other;
        std::memcpy(&other, &whole, sizeof(whole));
        return halved<bytes / 2>(combine, combine(one, other));
    }
}
// A reduction of some vectors by halves of one.
template <typename T, int N, typename F, typename S>
inline T lanes_reduced(const F& combine, const S& some)
{
    at::vec::VectorizedN<T, N> found(some);
    at::vec::Vectorized<T> one = found[0];
    for (int i = 1; i < N; ++i) one = combine(one, found[i]);
    one = halved<sizeof(Whole) / 2>(combine, one);
    T first;
    std::memcpy(&first, &one, sizeof(first));
    return first;
}

#if defined(CPU_CAPABILITY_AVX512)
// Casts a mask for lanes of one width into one for another, through the bits of AVX512's masks.
template <typename To, int count, typename M> inline auto mask_cast(const M& mask)
{
    using Lanes = std::decay_t<decltype(mask[0])>;
    using From = typename Lanes::value_type;
    constexpr bool is_plain = sizeof(From) != 2 && sizeof(To) != 2 && sizeof(From) != sizeof(To);
    if constexpr (!is_plain) {
        return mask.template cast<To, count>();
    } else {
        constexpr int size = M::size();
        uint64_t bits = 0;
        for (int i = 0; i < size / Lanes::size(); ++i) {
            auto lanes = mask[i];
            __m512i whole;
            std::memcpy(&whole, &lanes, sizeof(whole));
            uint64_t part = 0;
            if constexpr (sizeof(From) == 8) part = _mm512_movepi64_mask(whole);
            else if constexpr (sizeof(From) == 1) part = _mm512_movepi8_mask(whole);
            else part = _mm512_movepi32_mask(whole);
            bits |= part << (i * Lanes::size());
        }
        at::vec::VectorizedN<To, count> found;
        constexpr int wide = at::vec::Vectorized<To>::size();
        for (int i = 0; i < count; ++i) {
            __m512i whole;
            const uint64_t part = bits >> (i * wide);
            if constexpr (sizeof(To) == 8) whole = _mm512_movm_epi64((__mmask8)part);
            else if constexpr (sizeof(To) == 1) whole = _mm512_movm_epi8(part);
            else whole = _mm512_movm_epi32((__mmask16)part);
            std::memcpy(&found[i], &whole, sizeof(whole));
        }
        return at::vec::VecMask<To, count>(found);
    }
}
// 16 truth values as a mask.
inline at::vec::VecMask<float, 1> loaded_mask(const bool* from)
{
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m512i whole = _mm512_movm_epi32(_mm_test_epi8_mask(bytes, bytes));
    at::vec::VectorizedN<float, 1> found;
    std::memcpy(&found[0], &whole, sizeof(whole));
    return at::vec::VecMask<float, 1>(found);
}
// Two vectors of 64-bit integers as 16 bytes at the beginning of one.
inline at::vec::Vectorized<uint8_t> low_bytes(const at::vec::VectorizedN<int64_t, 2>& x)
{
    const __m128i low = _mm512_cvtepi64_epi8(x[0]), high = _mm512_cvtepi64_epi8(x[1]);
    const __m512i whole = _mm512_castsi128_si512(_mm_unpacklo_epi64(low, high));
    at::vec::Vectorized<uint8_t> found;
    std::memcpy(&found, &whole, sizeof(whole));
    return found;
}
#define NPACCEL_OF_SOME(to, from, name) \
    template <int N> inline at::vec::VectorizedN<to, N> name(const at::vec::VectorizedN<from, N>& x) \
    { \
        at::vec::VectorizedN<to, N> found; \
        for (int i = 0; i < N; ++i) found[i] = name(x[i]); \
        return found; \
    }
inline at::vec::Vectorized<int64_t> absolute(const at::vec::Vectorized<int64_t>& x)
{
    return _mm512_abs_epi64(x);
}
inline at::vec::Vectorized<int32_t> absolute(const at::vec::Vectorized<int32_t>& x)
{
    return _mm512_abs_epi32(x);
}
inline at::vec::Vectorized<double> floating(const at::vec::Vectorized<int64_t>& x)
{
    return _mm512_cvtepi64_pd(x);
}
inline at::vec::Vectorized<float> floating(const at::vec::Vectorized<int32_t>& x)
{
    return _mm512_cvtepi32_ps(x);
}
NPACCEL_OF_SOME(int64_t, int64_t, absolute)
NPACCEL_OF_SOME(int32_t, int32_t, absolute)
NPACCEL_OF_SOME(double, int64_t, floating)
NPACCEL_OF_SOME(float, int32_t, floating)

// The greatest or least of what was, x, and what comes, y: NaN where one is, or only where both are.
// AVX512's instruction returns its second operand where one is NaN, so that only what comes has to
// be looked at. The header's way compares both, and each step waits for the one before.
#define NPACCEL_FOLD(T, t, which) \
    inline at::vec::Vectorized<T> which##_with( \
        const at::vec::Vectorized<T>& x, const at::vec::Vectorized<T>& y) \
    { \
        return _mm512_mask_mov_##t(_mm512_##which##_##t(y, x), _mm512_cmp_##t##_mask(y, y, 3), y); \
    } \
    inline at::vec::Vectorized<T> which##_of_numbers( \
        const at::vec::Vectorized<T>& x, const at::vec::Vectorized<T>& y) \
    { \
        return _mm512_mask_mov_##t(_mm512_##which##_##t(x, y), _mm512_cmp_##t##_mask(y, y, 3), x); \
    } \
    template <int N> inline at::vec::VectorizedN<T, N> which##_with( \
        const at::vec::VectorizedN<T, N>& x, const at::vec::VectorizedN<T, N>& y) \
    { \
        at::vec::VectorizedN<T, N> found; \
        for (int i = 0; i < N; ++i) found[i] = which##_with(x[i], y[i]); \
        return found; \
    } \
    template <int N> inline at::vec::VectorizedN<T, N> which##_of_numbers( \
        const at::vec::VectorizedN<T, N>& x, const at::vec::VectorizedN<T, N>& y) \
    { \
        at::vec::VectorizedN<T, N> found; \
        for (int i = 0; i < N; ++i) found[i] = which##_of_numbers(x[i], y[i]); \
        return found; \
    }
NPACCEL_FOLD(double, pd, max)
NPACCEL_FOLD(float, ps, max)
NPACCEL_FOLD(double, pd, min)
NPACCEL_FOLD(float, ps, min)
#endif
}
#endif
