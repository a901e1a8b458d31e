//! Reasons for which a file is left alone.

/// The reason for which a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("it cannot be read as {format}: {reason}")]
    Unreadable {
        format: &'static str,
        reason: String,
    },
    #[error("`{name}` in it is no {wanted}")]
    WrongKind { name: String, wanted: &'static str },
    #[error("`{0}` stands in it twice")]
    Twice(String),
    #[error("the lines `{begin}` and `{end}` are not there once each, in this order")]
    Markers {
        begin: &'static str,
        end: &'static str,
    },
    #[error("it is not memdir's: it was written by hand or by another program")]
    Foreign,
    #[error("a change of `{0}` would change something else, too")]
    NotAlone(String),
    #[error("memdir does not change files of this format")]
    ByHand,
}
