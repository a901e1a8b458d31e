//! Runtimes and tokenizers are not ours, and some panic over files that are damaged or strange.

use std::cell::Cell;
use std::panic;
use std::panic::AssertUnwindSafe;
use std::sync::Once;

thread_local! {
    /// A panic on this thread is told by [`guarded`], and nowhere else.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work`; a panic is an error that says what the panic said.
///
/// Work that a panic left half done must not be used again.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    keep_panics_quiet();
    let was_guarded = IS_GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(was_guarded);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let said = text.and_then(|text| text.lines().next());
        format!("it broke off: {}", said.unwrap_or("without a word"))
    })
}

/// Leaves these panics out of the program's error output, where they would look like ours.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    if std::thread::panicking() {
        return; // The hook cannot be changed now.
    }
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if IS_GUARDED.get() {
                tracing::debug!("a model: {panic}");
            } else {
                loud(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_says_what_it_said() {
        let number = 7;
        let done = guarded(|| assert!(number == 8, "number {number}"));
        assert_eq!(done, Err("it broke off: number 7".to_owned()));
        assert_eq!(guarded(|| number), Ok(7));
        assert!(!IS_GUARDED.get());
    }
}
