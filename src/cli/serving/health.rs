//! Health of the store for the page: what `memdir doctor` says, in a process of its own.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;

use crate::http::{Examine, HealthCheck};

/// Runs `memdir doctor`, and ends it with the server.
#[derive(Clone)]
pub struct DoctorRuns(Arc<Mutex<Running>>);

#[derive(Default)]
struct Running {
    child: Option<Child>,
    /// True once the server stops: none begins any more.
    is_over: bool,
}

/// Output of `memdir doctor --json`.
#[derive(Deserialize)]
struct Output {
    checks: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    name: String,
    well: bool,
    what: String,
    hint: Option<String>,
}

impl DoctorRuns {
    pub fn new() -> DoctorRuns {
        DoctorRuns(Arc::default())
    }

    /// Returns the function that makes all checks of the store at `root`.
    pub fn examine(&self, root: &Path) -> Examine {
        let (runs, root) = (self.clone(), root.to_owned());
        Arc::new(move || {
            runs.run(&root).unwrap_or_else(|why| {
                vec![HealthCheck {
                    name: "doctor".to_owned(),
                    is_well: false,
                    what: why,
                    hint: "`memdir doctor` in a terminal says more.".to_owned(),
                }]
            })
        })
    }

    /// Ends the run that is going on, and lets none begin.
    pub fn end(&self) {
        let mut running = self.running();
        running.is_over = true;
        if let Some(mut child) = running.child.take() {
            let _ = child.kill(); // It may have ended.
            let _ = child.wait();
        }
    }

    /// Returns the checks of one run. An error says, in words, why there are none.
    fn run(&self, root: &Path) -> Result<Vec<HealthCheck>, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("cannot be found: {error}"))?;
        let mut command = Command::new(program);
        command.arg("--store").arg(root).args(["doctor", "--json"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut output = {
            let mut running = self.running();
            if running.is_over {
                return Err("the server stops".to_owned());
            }
            let child = command.spawn();
            let mut child = child.map_err(|error| format!("cannot be started: {error}"))?;
            let output = child.stdout.take().expect("it is a pipe");
            running.child = Some(child);
            output
        };
        let mut text = Vec::new();
        let read = output.read_to_end(&mut text);
        if let Some(mut child) = self.running().child.take() {
            let _ = child.wait(); // Its output is closed: it ends, or was ended.
        }
        read.map_err(|error| format!("cannot be read: {error}"))?;
        let output: Output = serde_json::from_slice(&text)
            .map_err(|_| "`memdir doctor` ended without an answer".to_owned())?;
        let lines = output.checks.into_iter();
        let checks = lines.map(|line| HealthCheck {
            name: line.name,
            is_well: line.well,
            what: line.what,
            hint: line.hint.unwrap_or_default(),
        });
        Ok(checks.collect())
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
