// C++'s containers, as far as kernels use them.
namespace std {
template <typename T, typename U> struct pair {
    T first;
    U second;
};
template <typename T> struct unique_ptr;
template <typename T> struct unique_ptr<T[]> {
    T* items;
    explicit unique_ptr(T* items) : items(items) {}
    unique_ptr(unique_ptr&& other) : items(other.items) { other.items = nullptr; }
    unique_ptr(const unique_ptr&) = delete;
    ~unique_ptr() { delete[] items; }
    T* get() const { return items; }
    T& operator[](size_t i) const { return items[i]; }
};
template <typename T> inline unique_ptr<T> make_unique(size_t count)
{
    using Item = typename remove_reference<decltype(unique_ptr<T>::items[0])>::type;
    return unique_ptr<T>(new Item[count]());
}
template <typename T, typename U> inline void fill(T* from, T* end, const U& x)
{
    for (; from != end; ++from) *from = x;
}
template <typename T> struct vector {
    T* items = nullptr;
    size_t count = 0;
    vector() = default;
    explicit vector(size_t count, const T& x = T()) : items(new T[count]), count(count)
    {
        fill(begin(), end(), x);
    }
    vector(const vector&) = delete;
    ~vector() { delete[] items; }
    T* begin() const { return items; }
    T* end() const { return items + count; }
    T* data() const { return items; }
    size_t size() const { return count; }
    T& operator[](size_t i) const { return items[i]; }
};
}
