// Division of integers as Python has it, and what is noted where one is by zero.
namespace std {
template <typename T> struct atomic {
    T value;
    void store(T x) { __atomic_store_n(&value, x, __ATOMIC_RELAXED); }
    T load() const { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
};
}
static std::atomic<int>* inductor_cpu_integer_div_error_flag = nullptr;
inline void inductor_cpu_throw_if_integer_div_error(const std::atomic<int>& noted)
{
    if (noted.load()) throw Error{"ZeroDivisionError"};
}
inline void note_division_by_zero()
{
    if (inductor_cpu_integer_div_error_flag == nullptr) throw Error{"ZeroDivisionError"};
    inductor_cpu_integer_div_error_flag->store(1);
}
namespace c10 {
template <typename T> inline T div_floor_integer(T a, T b)
{
    if (C10_UNLIKELY(b == 0)) return T(0);
    if (C10_UNLIKELY(std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == T(-1)))
        return a;
    if ((a < 0) == (b < 0)) return a / b;
    const auto whole = a / b;
    return a % b ? whole - 1 : whole;
}
}
template <typename T, typename U> inline std::common_type_t<T, U> floor_divide_integral(T a, U b)
{
    using C = std::common_type_t<T, U>;
    if (C10_UNLIKELY(static_cast<C>(b) == 0)) {
        note_division_by_zero();
        return C(0);
    }
    return c10::div_floor_integer(static_cast<C>(a), static_cast<C>(b));
}
template <typename T, typename U> inline std::common_type_t<T, U> mod(T a, U b)
{
    using C = std::common_type_t<T, U>;
    if constexpr (std::is_same_v<C, float>) return __builtin_fmodf(a, b);
    else if constexpr (std::is_same_v<C, double>) return __builtin_fmod(a, b);
    else {
        if (C10_UNLIKELY(b == 0)) {
            note_division_by_zero();
            return C(0);
        }
        if (static_cast<C>(a) == std::numeric_limits<C>::min() && static_cast<C>(b) == C(-1))
            return C(0);
        return static_cast<C>(a) % static_cast<C>(b);
    }
}
template <typename T> inline T remainder_integral(T a, T b)
{
    if (C10_UNLIKELY(b == 0)) {
        note_division_by_zero();
        return T(0);
    }
    if (a == std::numeric_limits<T>::min() && b == T(-1)) return T(0);
    T rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    return rest;
}
