//! Features of a text by itself, computed when it is indexed, and resemblance of two texts.

mod calling;
mod role;
mod shingles;
mod standing;
mod text_features;

pub use calling::{Calling, callings};
pub use role::Role;
pub use shingles::{ShingleFilter, ShingleSet, resemblance};
pub(in crate::ranking) use standing::prefers;
pub use standing::{condition, instructs};
pub use text_features::{
    LONG_WORDS, PIECE_WORDS, SKETCH_PARTS, Sketch, TextFeatures, TextPart, TraitsBuilder,
};
