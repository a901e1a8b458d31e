//! Runs loops with the widest instructions that the processor has.
//!
//! The program is compiled for every processor of its kind; on x86-64 these have vectors of 16 bytes. A loop that the
//! compiler makes vector instructions of is compiled once more for AVX2, with 32 bytes, and the processor is asked which of
//! both to run. Promise: both give the same result. What a loop computes is left to the callers.

/// Returns the result of `work`, run with the widest instructions. Only what the compiler inlines gets them: `work` is the
/// name of an `#[inline(always)]` function, and no closure.
#[inline]
pub fn widest<A, R>(work: impl FnOnce(A) -> R, argument: A) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked; the function needs nothing else.
        #[allow(unsafe_code, reason = "the wider instructions are four times as fast")]
        return unsafe { with_avx2(work, argument) };
    }
    work(argument)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<A, R>(work: impl FnOnce(A) -> R, argument: A) -> R {
    work(argument)
}
