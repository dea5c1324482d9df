// Integers, limits and traits by the names that kernels call them.
using int8_t = __INT8_TYPE__;
using int16_t = __INT16_TYPE__;
using int32_t = __INT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__;
using uint16_t = __UINT16_TYPE__;
using uint32_t = __UINT32_TYPE__;
using uint64_t = __UINT64_TYPE__;
using size_t = __SIZE_TYPE__;
extern "C" {
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
double omp_get_wtime();
}
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define CHAR_BIT 8
#define __at_align__ alignas(64)

struct Error {
    const char* text;
    Error(const char* text) : text(text) {}
};
#define TORCH_CHECK(condition, text) \
    if (C10_UNLIKELY(!(condition))) throw Error{text}

namespace std {
using runtime_error = Error;
using lean::int8_t; using lean::int16_t; using lean::int32_t; using lean::int64_t;
using lean::uint8_t; using lean::uint16_t; using lean::uint32_t; using lean::uint64_t;
using lean::size_t;

template <bool B, typename T, typename F> struct conditional { using type = T; };
template <typename T, typename F> struct conditional<false, T, F> { using type = F; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;
template <typename T, typename U> constexpr bool is_same_v = false;
template <typename T> constexpr bool is_same_v<T, T> = true;
template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { using type = T; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <typename T> struct remove_reference { using type = T; };
template <typename T> struct remove_reference<T&> { using type = T; };
template <typename T> struct remove_reference<T&&> { using type = T; };
template <typename T> struct remove_cv { using type = T; };
template <typename T> struct remove_cv<const T> { using type = T; };
template <typename T> using decay_t = typename remove_cv<typename remove_reference<T>::type>::type;
template <typename T> constexpr bool is_floating_point_v =
    is_same_v<T, float> || is_same_v<T, double>;
template <typename T> constexpr bool is_integral_v = false;
template <> constexpr bool is_integral_v<bool> = true;
template <> constexpr bool is_integral_v<char> = true;
template <> constexpr bool is_integral_v<signed char> = true;
template <> constexpr bool is_integral_v<unsigned char> = true;
template <> constexpr bool is_integral_v<short> = true;
template <> constexpr bool is_integral_v<unsigned short> = true;
template <> constexpr bool is_integral_v<int> = true;
template <> constexpr bool is_integral_v<unsigned> = true;
template <> constexpr bool is_integral_v<long> = true;
template <> constexpr bool is_integral_v<unsigned long> = true;
template <> constexpr bool is_integral_v<long long> = true;
template <> constexpr bool is_integral_v<unsigned long long> = true;
template <typename T> constexpr bool is_signed_v = T(-1) < T(0);
template <int size> struct integer_of;
template <> struct integer_of<1> { using type = int8_t; using positive = uint8_t; };
template <> struct integer_of<2> { using type = int16_t; using positive = uint16_t; };
template <> struct integer_of<4> { using type = int32_t; using positive = uint32_t; };
template <> struct integer_of<8> { using type = int64_t; using positive = uint64_t; };
template <typename T> using make_signed_t = typename integer_of<sizeof(T)>::type;
template <typename T> using make_unsigned_t = typename integer_of<sizeof(T)>::positive;
template <typename T, typename U> using common_type_t = decay_t<decltype(true ? T() : U())>;

template <typename T> struct numeric_limits {
    static constexpr T max()
    {
        return is_signed_v<T> ? T((uint64_t(1) << (8 * sizeof(T) - 1)) - 1) : T(~uint64_t(0));
    }
    static constexpr T min() { return is_signed_v<T> ? T(-max() - 1) : T(0); }
    static constexpr T lowest() { return min(); }
};
template <> struct numeric_limits<bool> {
    static constexpr bool max() { return true; }
    static constexpr bool min() { return false; }
};
template <> struct numeric_limits<float> {
    static constexpr float infinity() { return __builtin_inff(); }
    static constexpr float quiet_NaN() { return __builtin_nanf(""); }
    static constexpr float max() { return __FLT_MAX__; }
    static constexpr float min() { return __FLT_MIN__; }
    static constexpr float lowest() { return -__FLT_MAX__; }
    static constexpr float epsilon() { return __FLT_EPSILON__; }
};
template <> struct numeric_limits<double> {
    static constexpr double infinity() { return __builtin_inf(); }
    static constexpr double quiet_NaN() { return __builtin_nan(""); }
    static constexpr double max() { return __DBL_MAX__; }
    static constexpr double min() { return __DBL_MIN__; }
    static constexpr double lowest() { return -__DBL_MAX__; }
    static constexpr double epsilon() { return __DBL_EPSILON__; }
};
template <typename T> constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <typename T> constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
inline void* memcpy(void* to, const void* from, size_t size)
{
    return __builtin_memcpy(to, from, size);
}
template <typename T, size_t n> struct array {
    T items[n];
    T* data() { return items; }
    const T* data() const { return items; }
    T& operator[](size_t i) { return items[i]; }
    const T& operator[](size_t i) const { return items[i]; }
    static constexpr size_t size() { return n; }
};
}

namespace c10 {
template <typename To, typename From> inline To convert(From x)
{
    if constexpr (std::is_same_v<To, uint8_t>) return static_cast<To>(static_cast<int64_t>(x));
    else return static_cast<To>(x);
}
template <typename To, typename From> inline To bit_cast(const From& from)
{
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}
}
