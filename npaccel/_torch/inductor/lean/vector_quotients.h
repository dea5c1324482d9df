// Floors of floats' quotients, as Python has them.
template <typename T> inline at::vec::Vectorized<T> div_floor_floating_vec(
    const at::vec::Vectorized<T>& a, const at::vec::Vectorized<T>& b)
{
    using Lanes = at::vec::Vectorized<T>;
    const Lanes zero(T(0)), one(T(1)), infinity(std::numeric_limits<T>::infinity());
    const Lanes quotient = a / b, rest = a.fmod(b);
    const Lanes is_too_large = (quotient.abs() == infinity) & (a.abs() != infinity);
    Lanes whole = Lanes::blendv(a - rest, a, is_too_large) / b;
    const Lanes is_below = (rest != zero) & ((b < zero) ^ (rest < zero));
    whole = Lanes::blendv(whole, whole - one, is_below);
    Lanes found = whole.floor();
    found = Lanes::blendv(found, found + one, (whole - found) > Lanes(T(0.5)));
    found = Lanes::blendv(found, zero.copysign(quotient), whole == zero);
    return Lanes::blendv(found, quotient, b == zero);
}
template <typename T, int N> inline at::vec::VectorizedN<T, N> div_floor_floating_vec(
    const at::vec::VectorizedN<T, N>& a, const at::vec::VectorizedN<T, N>& b)
{
    at::vec::VectorizedN<T, N> found;
    for (int i = 0; i < N; ++i) found[i] = div_floor_floating_vec(a[i], b[i]);
    return found;
}
