//! The program: one command, one exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    memdir::cli::run()
}
