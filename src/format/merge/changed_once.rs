//! The simple case of every merge of three versions.

/// Returns the version that counts where at most one side changed `base`; `None` if both did.
pub(super) fn changed_once<T: PartialEq>(base: T, winner: T, loser: T) -> Option<T> {
    if winner == loser || base == loser {
        Some(winner)
    } else {
        (base == winner).then_some(loser)
    }
}
