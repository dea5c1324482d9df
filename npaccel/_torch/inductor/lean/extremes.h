// Extremes with their positions: of equals, and of NaN, it's the first.
template <typename T> struct IndexValue {
    int64_t index{};
    T value;
    IndexValue() = default;
    IndexValue(int64_t index, T value) : index(index), value(value) {}
};
#define LEAN_EXTREME(name, better) \
    template <typename T> \
    inline IndexValue<T>& name##_combine(IndexValue<T>& a, T value, int64_t index) \
    { \
        bool is_kept; \
        if (a.value != a.value) is_kept = value != value ? a.index < index : true; \
        else is_kept = a.value == value ? a.index < index : a.value better value; \
        if (!is_kept) a = {index, value}; \
        return a; \
    } \
    template <typename T> \
    inline IndexValue<T>& name##_combine(IndexValue<T>& a, const IndexValue<T>& other) \
    { \
        return name##_combine(a, other.value, other.index); \
    }
LEAN_EXTREME(argmax, >)
LEAN_EXTREME(argmin, <)
