//! Long answers go through a pager, where somebody looks at them.
//!
//! Promises: `$MEMDIR_PAGER` counts, then `$PAGER`, else `less -FRX` where there is one; an empty
//! one, or `cat`, is none. What is piped, written to a file, or JSON is never paged. A pager that
//! cannot be started costs nothing but the paging.

/// A pager that reads this process's standard output.
pub struct Pager {
    #[cfg(unix)]
    child: std::process::Child,
}

#[cfg(unix)]
impl Pager {
    /// Starts a pager for an answer on a terminal; `None` if there is to be none.
    pub fn start() -> Option<Pager> {
        use std::process::Stdio;
        let named = ["MEMDIR_PAGER", "PAGER"]
            .iter()
            .find_map(|name| std::env::var(name).ok());
        let line = named.unwrap_or_else(|| "less -FRX".to_owned());
        if matches!(line.trim(), "" | "cat") {
            return None;
        }
        // A shell that does not find the program would end, and take the answer with it.
        let program = shlex::split(&line)?.into_iter().next()?;
        let is_there = std::env::split_paths(&std::env::var_os("PATH")?)
            .any(|folder| folder.join(&program).is_file());
        if !is_there {
            return None;
        }
        let mut child = std::process::Command::new("sh")
            .args(["-c", &line])
            // As git sets it: leave at the end of what fits, and show colours.
            .env("LESS", std::env::var("LESS").unwrap_or_else(|_| "FRX".to_owned()))
            .stdin(Stdio::piped())
            .spawn()
            .ok()?;
        let input = child.stdin.take()?;
        rustix::stdio::dup2_stdout(&input).ok()?;
        Some(Pager { child })
    }

    /// Waits until whoever reads is done. Nothing may be printed any more.
    pub fn wait(mut self) {
        // The pager reads until the last one who could write has closed.
        if let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(nowhere);
        }
        let _ = self.child.wait();
    }
}

/// Elsewhere nothing is paged.
#[cfg(not(unix))]
impl Pager {
    pub fn start() -> Option<Pager> {
        None
    }

    pub fn wait(self) {}
}
