//! Exchange of a server with the remote of its store.

use std::sync::Arc;

use crate::engine::history::remote::exchanged::{Accept, Exchanged};
use crate::engine::history::remote::exchanger::{
    Attempt, Exchanger, FIRST_SILENCE, LONGEST_SILENCE, Partner, QUIET,
};
use crate::engine::history::remote::setup;
use crate::engine::history::warn_once::WarnOnce;
use crate::engine::history::{History, consent};

/// Starts the exchange with the remote.
pub(in crate::engine) fn start(history: &Arc<History>) -> std::io::Result<Exchanger> {
    let partner = GitRemote {
        history: Arc::clone(history),
        warn_once: WarnOnce::default(),
    };
    Exchanger::start("sync", Box::new(partner))
}

struct GitRemote {
    history: Arc<History>,
    warn_once: WarnOnce,
}

impl Partner for GitRemote {
    fn exchange(&mut self, _: bool, stop: &dyn Fn() -> bool) -> Attempt {
        match setup::come_into_step(&self.history, Accept::default(), stop) {
            Ok(Exchanged::InStep(moved)) => {
                self.warn_once.forget();
                if moved.pulled > 0 {
                    tracing::info!("{} files came from the remote", moved.pulled);
                }
                for stem in moved.conflicts {
                    self.warn_once.say(format!(
                        "{stem} was changed on two machines, and is two memories now"
                    ));
                }
                let interval = self.history.git.as_ref().map(|git| git.interval);
                Attempt::InStep(interval.unwrap_or(LONGEST_SILENCE))
            }
            Ok(Exchanged::NoRemote | Exchanged::Off) => {
                if let Some(forgotten) = consent::forgotten_remote(&self.history) {
                    self.warn_once.say(forgotten);
                }
                Attempt::Idle
            }
            Ok(Exchanged::Busy) => Attempt::Failed(QUIET),
            Ok(Exchanged::Paused(reason)) => {
                let what = format!("nothing is exchanged at present: {reason}");
                self.warn_once.say(what);
                Attempt::Failed(FIRST_SILENCE)
            }
            Err(error) => {
                self.warn_once.say(error.to_string());
                Attempt::Failed(FIRST_SILENCE)
            }
        }
    }
}
