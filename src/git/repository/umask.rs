//! File modes in somebody's repository: those that git would give. Elsewhere this program makes files
//! for its user alone, and other users could not work in the repository any more.

#[cfg(unix)]
use std::sync::Mutex;
#[cfg(unix)]
use std::sync::MutexGuard;
#[cfg(unix)]
use std::sync::PoisonError;

#[cfg(unix)]
use rustix::fs::Mode;

#[cfg(unix)]
struct Masks {
    /// Mask at the start of the program.
    theirs: Option<Mode>,
    /// Number of values of [`Shared`] at present.
    users: usize,
    own: Mode,
}

#[cfg(unix)]
static MASKS: Mutex<Masks> = Mutex::new(Masks {
    theirs: None,
    users: 0,
    own: Mode::empty(),
});

#[cfg(unix)]
fn masks() -> MutexGuard<'static, Masks> {
    MASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the process's umask to make files for its user alone, except in somebody's repository.
pub fn make_private() {
    #[cfg(unix)]
    {
        let mut masks = masks();
        masks.own = Mode::RWXG | Mode::RWXO;
        masks.theirs = Some(rustix::process::umask(masks.own));
    }
}

/// While a value lives, new files get the modes of the caller's umask, or those of
/// `core.sharedRepository`. Files of the store have explicit modes.
pub(in crate::git) struct Shared(());

impl Shared {
    /// Sets the umask for a value of `core.sharedRepository`.
    pub fn as_configured(value: Option<&str>) -> Shared {
        #[cfg(unix)]
        {
            let mut masks = masks();
            masks.users += 1;
            if let Some(theirs) = masks.theirs {
                let open = match value {
                    Some("group" | "true" | "1") => Mode::RWXG,
                    Some("all" | "world" | "everybody" | "2") => {
                        Mode::RWXG | Mode::ROTH | Mode::XOTH
                    }
                    _ => Mode::empty(),
                };
                rustix::process::umask(theirs - open);
            }
        }
        #[cfg(not(unix))]
        let _ = value;
        Shared(())
    }
}

#[cfg(unix)]
impl Drop for Shared {
    fn drop(&mut self) {
        let mut masks = masks();
        masks.users = masks.users.saturating_sub(1);
        if masks.users == 0 && masks.theirs.is_some() {
            rustix::process::umask(masks.own);
        }
    }
}
