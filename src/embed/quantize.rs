//! Quantises activations for the runtime built in, in place of tract's own operator.
//!
//! Gives the numbers of ONNX's `DynamicQuantizeLinear`, those of tract bit for bit. tract calls a
//! function of the C library for each rounding, which takes a third of the time of a quantised
//! model; here the compiler makes wide instructions of it.

use tract_onnx::prelude::{DatumExt, IntoTValue, TVec, TypedFact, tensor0, tvec};
use tract_onnx::tract_core::internal::*;

/// Name of the operator of tract that [`DynamicQuantize`] replaces.
pub(super) const OF_TRACT: &str = "DynamicQuantizeLinearU8";

/// Operator with one input and three outputs: numbers of 8 bits, their scale, and the number that
/// stands for zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DynamicQuantize;

impl Op for DynamicQuantize {
    fn name(&self) -> StaticName {
        "DynamicQuantize".into()
    }

    op_as_typed_op!();
}

impl EvalOp for DynamicQuantize {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let quantized = quantize(inputs[0].try_as_plain_ram()?.as_slice::<f32>()?);
        let numbers = Tensor::from_shape(inputs[0].shape(), &quantized.numbers)?;
        Ok(tvec!(
            numbers.into_tvalue(),
            tensor0(quantized.scale).into_tvalue(),
            tensor0(quantized.zero).into_tvalue(),
        ))
    }
}

impl TypedOp for DynamicQuantize {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let numbers = u8::fact(inputs[0].shape.clone());
        Ok(tvec!(numbers, f32::scalar_fact(), u8::scalar_fact()))
    }

    as_op!();
}

/// A value is `(number - zero) * scale`, or up to half of `scale` off.
#[derive(Debug, PartialEq)]
struct Quantized {
    numbers: Vec<u8>,
    scale: f32,
    zero: u8,
}

fn quantize(values: &[f32]) -> Quantized {
    let (least, most) = range(values);
    let scale = (most - least) / 255.0;
    let zero = (-least / scale).round_ties_even() as u8;
    if scale == 0.0 {
        let numbers = vec![zero; values.len()];
        return Quantized {
            numbers,
            scale,
            zero,
        };
    }
    // Of a float of this size the last bit of the mantissa is worth 1: the sum is rounded to a
    // whole number, ties to even, and its bits are those of the constant plus that number.
    const ROUND: f32 = 12_582_912.0;
    let offset = i32::from(zero) - ROUND.to_bits() as i32;
    let numbers = values.iter().map(|value| {
        let rounded = (value / scale + ROUND).to_bits() as i32;
        rounded.wrapping_add(offset).clamp(0, 255) as u8
    });
    Quantized {
        numbers: numbers.collect(),
        scale,
        zero,
    }
}

/// Returns the least and the greatest of `values` and zero.
fn range(values: &[f32]) -> (f32, f32) {
    const LANES: usize = 16;
    let lower = |a: f32, b: f32| if b < a { b } else { a };
    let higher = |a: f32, b: f32| if b > a { b } else { a };
    let (mut least, mut most) = ([0.0; LANES], [0.0; LANES]);
    for row in values.chunks(LANES) {
        for ((least, most), &value) in least.iter_mut().zip(&mut most).zip(row) {
            *least = lower(*least, value);
            *most = higher(*most, value);
        }
    }
    (
        least.into_iter().fold(0.0, lower),
        most.into_iter().fold(0.0, higher),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the definition of the operator says, number by number.
    fn defined(values: &[f32]) -> Quantized {
        let least = values.iter().copied().fold(0.0, f32::min);
        let most = values.iter().copied().fold(0.0, f32::max);
        let scale = (most - least) / 255.0;
        let zero = (-least / scale).round_ties_even().clamp(0.0, 255.0) as u8;
        let number = |value: &f32| {
            let rounded = (value / scale).round_ties_even() as i32;
            (rounded + i32::from(zero)).clamp(0, 255) as u8
        };
        Quantized {
            numbers: values.iter().map(number).collect(),
            scale,
            zero,
        }
    }

    #[test]
    fn halves_are_rounded_to_even() {
        let values: Vec<f32> = (0..=510).map(|half| half as f32 / 2.0).collect();
        let quantized = quantize(&values);
        assert_eq!(quantized.scale, 1.0);
        assert_eq!(quantized.numbers[..6], [0, 0, 1, 2, 2, 2]);
        assert_eq!(quantized, defined(&values));
    }

    #[test]
    fn zeros_and_nothing_are_zeros() {
        assert_eq!(quantize(&[0.0; 3]).numbers, [0; 3]);
        assert_eq!(quantize(&[]), defined(&[]));
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_definition(
            values in proptest::collection::vec(-100.0_f32..100.0, 1..70),
            shift in -100.0_f32..100.0,
        ) {
            let shifted: Vec<f32> = values.iter().map(|value| value + shift).collect();
            prop_assert_eq!(quantize(&shifted), defined(&shifted));
        }
    }
}
