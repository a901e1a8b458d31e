//! What is made in somebody's repository gets the modes that their git would give it: this program
//! makes everything for its user alone otherwise, and other users could work there no more.

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
    /// The caller's, as the program found it.
    theirs: Option<Mode>,
    /// Number of users of the mask at present, and the mask of this program.
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

/// Has the process make everything for its user alone from now on, but for what it does in
/// somebody's repository.
pub fn make_private() {
    #[cfg(unix)]
    {
        let mut masks = masks();
        masks.own = Mode::RWXG | Mode::RWXO;
        masks.theirs = Some(rustix::process::umask(masks.own));
    }
}

/// As long as this lives, what is made gets the modes of the caller's mask, or those that
/// `core.sharedRepository` wants. Files of the store have theirs written down and are not concerned.
pub(in crate::git) struct Shared(());

impl Shared {
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
