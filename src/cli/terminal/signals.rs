//! Signals that end the program while it has changed the mode of the terminal: the terminal is given back first.

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Watches for signals until it is dropped.
pub struct EndingSignals {
    #[cfg(unix)]
    handle: signal_hook::iterator::Handle,
}

impl EndingSignals {
    /// Has `give_back` called before a signal ends the program, as it would have without this.
    ///
    /// # Errors
    ///
    /// Fails if the system takes no handler.
    #[cfg(unix)]
    pub fn watch(give_back: impl Fn() + Send + 'static) -> std::io::Result<EndingSignals> {
        let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let handle = signals.handle();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                // A picture that is being drawn ends before, or is not ended: nothing follows what gives it back.
                let _held = std::io::stdout().lock();
                give_back();
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
        Ok(EndingSignals { handle })
    }

    #[cfg(not(unix))]
    pub fn watch(_give_back: impl Fn() + Send + 'static) -> std::io::Result<EndingSignals> {
        Ok(EndingSignals {})
    }
}

#[cfg(unix)]
impl Drop for EndingSignals {
    fn drop(&mut self) {
        self.handle.close();
    }
}
