//! Runs another program and waits for its end, with patience.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Output and end of a program that ran.
pub struct Ran {
    pub is_success: bool,
    pub stdout: String,
    pub stderr: String,
    /// Time from its start to its end.
    pub taken: Duration,
}

/// Runs a program with `input` on its standard input. One that takes longer than `patience` is ended.
///
/// # Errors
///
/// Fails, in words, if it cannot be started or does not end.
pub fn run(mut command: Command, input: &str, patience: Duration) -> Result<Ran, String> {
    let begun = Instant::now();
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| format!("cannot be started: {error}"))?;
    let stdout = read(child.stdout.take().expect("it is a pipe"));
    let stderr = read(child.stderr.take().expect("it is a pipe"));
    // A program that does not read its input ends all the same.
    let _ = child
        .stdin
        .take()
        .expect("it is a pipe")
        .write_all(input.as_bytes());
    let mut said = |pipe: mpsc::Receiver<String>| {
        let left = patience.saturating_sub(begun.elapsed());
        pipe.recv_timeout(left).map_err(|_| {
            let _ = child.kill();
            let _ = child.wait();
            format!("no answer within {} s", patience.as_secs())
        })
    };
    let (stdout, stderr) = (said(stdout)?, said(stderr)?);
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok(Ran {
        is_success: status.success(),
        stdout,
        stderr,
        taken: begun.elapsed(),
    })
}

/// Returns where the whole text of a pipe comes once it is closed.
fn read(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (text, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = text.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    said
}
