//! An episode: memories of one namespace that follow each other closely in time.

/// A run of memories close in time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Episode {
    /// First row.
    pub start: u32,
    /// Row after the last.
    pub end: u32,
    /// Number of terms of all its memories.
    pub length: f32,
    /// Whether its memories are related.
    pub is_context: bool,
    /// Whether it is a context, and small enough to be ranked as one text.
    pub is_ranked: bool,
}

/// An [`Episode`] as it is stored: first row, row after the last, bits of the length, flags.
pub(super) type PackedEpisode = [u32; 4];

/// Flag of [`Episode::is_context`].
pub(super) const IS_CONTEXT: u32 = 1;

/// Flag of [`Episode::is_ranked`].
pub(super) const IS_RANKED: u32 = 2;

impl Episode {
    /// Returns the stored form.
    pub(super) fn pack(&self) -> PackedEpisode {
        let is = |is: bool, bit: u32| if is { bit } else { 0 };
        let kind = is(self.is_context, IS_CONTEXT) | is(self.is_ranked, IS_RANKED);
        [self.start, self.end, self.length.to_bits(), kind]
    }

    /// Reads the stored form.
    #[inline]
    pub(super) fn unpack([start, end, length, kind]: PackedEpisode) -> Episode {
        Episode {
            start,
            end,
            length: f32::from_bits(length),
            is_context: kind & IS_CONTEXT != 0,
            is_ranked: kind & IS_RANKED != 0,
        }
    }
}
