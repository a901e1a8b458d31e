//! The answer of a model to some texts.

/// The numbers that a model answers, row after row.
pub(super) struct ModelOutput {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}
