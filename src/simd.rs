//! Runs loops with the widest instructions that the processor has.
//!
//! The program is compiled for every processor of its kind; on x86-64 these have vectors of 16 bytes. A loop that the
//! compiler makes vector instructions of is compiled once more for AVX2, with 32 bytes, and the processor is asked which of
//! both to run. Promise: both give the same result. What a loop computes is left to the callers.

/// A loop. What the compiler inlines gets the wider instructions, so [`WideLoop::run`] is to be `#[inline(always)]`; a
/// closure or the name of a function would be called by a function of its own, which is not inlined.
pub trait WideLoop {
    /// Result of the loop.
    type Output;

    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs a loop with the widest instructions, and returns its result.
#[inline]
pub fn widest<L: WideLoop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked; the function needs nothing else.
        #[allow(unsafe_code, reason = "the wider instructions are four times as fast")]
        return unsafe { with_avx2(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<L: WideLoop>(work: L) -> L::Output {
    work.run()
}
