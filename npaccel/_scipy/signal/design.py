"""Design of filters in `scipy.signal`: why it's SciPy's own, or goes through the host."""

from __future__ import annotations

from npaccel._scipy.dispatch.table import by_scipy, through_host

through_host(
    "signal.besselap signal.buttap signal.cheb1ap signal.cheb2ap signal.ellipap signal.gammatone "
    "signal.get_window signal.iircomb signal.iirnotch signal.iirpeak signal.kaiser_atten "
    "signal.kaiser_beta signal.kaiserord signal.savgol_coeffs signal.windows.barthann "
    "signal.windows.bartlett signal.windows.blackman signal.windows.blackmanharris "
    "signal.windows.bohman signal.windows.boxcar signal.windows.chebwin signal.windows.cosine "
    "signal.windows.dpss signal.windows.exponential signal.windows.flattop "
    "signal.windows.gaussian signal.windows.general_gaussian signal.windows.general_hamming "
    "signal.windows.get_window signal.windows.hamming signal.windows.hann signal.windows.kaiser "
    "signal.windows.kaiser_bessel_derived signal.windows.lanczos signal.windows.nuttall "
    "signal.windows.parzen signal.windows.taylor signal.windows.triang signal.windows.tukey",
    "takes no arrays",
    takes_arrays=False,
    is_pure=True,
)
through_host(
    "signal.bessel signal.butter signal.cheby1 signal.cheby2 signal.ellip signal.ellipord "
    "signal.firls signal.firwin2 signal.firwin_2d signal.remez signal.band_stop_obj",
    "a filter is designed from a few numbers, which decide what is computed",
    is_pure=True,
)
through_host(
    "signal.bilinear signal.cont2discrete signal.findfreqs signal.group_delay signal.invres "
    "signal.invresz signal.residue signal.residuez signal.sos2tf signal.sos2zpk signal.ss2tf "
    "signal.ss2zpk signal.tf2sos signal.tf2ss signal.tf2zpk signal.unique_roots signal.zpk2sos "
    "signal.zpk2ss signal.zpk2tf signal.lfiltic",
    "a few coefficients, whose values decide what is computed",
    is_pure=True,
)
through_host(
    "signal.dbode signal.dfreqresp signal.dimpulse signal.dlsim signal.dstep signal.freqresp "
    "signal.lsim signal.step",
    "a system of equations is followed from step to step, or is an object of SciPy's",
)
through_host("signal.closest_STFT_dual_window", "SciPy's `ShortTimeFFT` computes on NumPy's arrays")
through_host("signal.firwin", "with tensors SciPy computes the window in 32 bits", is_pure=True)
by_scipy(
    "signal.buttord signal.cheb1ord signal.cheb2ord signal.iirdesign signal.iirfilter "
    "signal.freqz signal.freqs signal.freqz_zpk signal.freqs_zpk signal.freqz_sos "
    "signal.gauss_spline signal.windows.general_cosine"
)
