// The error function of float32, by a polynomial (Abramowitz and Stegun, 7.1.26), as ATen has it.
extern "C" Floats SLEEF_EXP(Floats);
inline Floats sleef_erf(Floats x)
{
    const Floats none{}, one = none + 1.0f;
    const Ints sign = (Ints)x & (-__INT_MAX__ - 1);
    const Floats size = (Floats)((Ints)x & __INT_MAX__);
    const Floats t = one / fused(none + 0.3275911f, size, one);
    Floats sum = fused(none + 1.061405429f, t, none - 1.453152027f);
    sum = fused(sum, t, none + 1.421413741f);
    sum = fused(sum, t, none - 0.284496736f);
    sum = fused(sum, t, none + 0.254829592f);
    const Floats tail = -SLEEF_EXP(-(x * x)) * t;
    return (Floats)(sign ^ (Ints)fused(tail, sum, one));
}
