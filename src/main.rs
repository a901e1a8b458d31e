//! The program: one command, one exit code.

use std::io::Write;
use std::process::ExitCode;
use std::{env, io};

fn main() -> ExitCode {
    if let Some(code) = answer_git() {
        return code;
    }
    memdir::cli::run()
}

/// Answers one question of the git program, where memdir itself has started that. It is told
/// whether to by a variable, because git runs us with the question as the only argument.
fn answer_git() -> Option<ExitCode> {
    env::var_os(memdir::git::ASKPASS)?;
    let mut arguments = env::args_os().skip(1);
    let (Some(prompt), None) = (arguments.next(), arguments.next()) else {
        return None;
    };
    let variables = |name: &str| env::var(name).ok();
    let answer = memdir::git::askpass(&prompt.to_string_lossy(), &variables);
    let told = answer.is_some_and(|answer| writeln!(io::stdout(), "{answer}").is_ok());
    Some(ExitCode::from(u8::from(!told)))
}
