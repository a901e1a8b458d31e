//! What a model makes of some texts.

/// What a model answers: numbers, row after row.
pub(super) struct Answer {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}
