//! The budget of tokens of a reply.

use crate::dialect::preview;
use crate::dialect::preview::{Preview, PreviewWords};

/// One value takes no more than this part of an answer: else a single one could be all of it.
const PART: usize = 10;
/// Estimated number of characters of one token.
const CHARACTERS: usize = 4;

/// The tokens that remain for a reply.
pub(super) struct TokenBudget {
    whole: usize,
    left: usize,
}

impl TokenBudget {
    pub fn of(tokens: usize) -> TokenBudget {
        TokenBudget {
            whole: tokens,
            left: tokens,
        }
    }

    /// The beginning of a value, at most as long as one value may be.
    pub fn value(&self, text: &str) -> Preview {
        preview(
            text,
            &PreviewWords::default(),
            self.whole / PART * CHARACTERS,
        )
    }

    /// Whether so many tokens have room; they are taken then.
    pub fn takes(&mut self, tokens: usize) -> bool {
        let has_room = tokens <= self.left;
        if has_room {
            self.left -= tokens;
        }
        has_room
    }
}
