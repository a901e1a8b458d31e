//! Command lines of other memory programs, on a store of memdir: `memdir as PROGRAM …`, and links to
//! the program that are called as one of them.
//!
//! A line either becomes one of memdir's own ([`Line::Memdir`]), or is done by the tools of the program's
//! tool set and shown as that program shows it ([`Line::AiMemory`]).

mod ai_memory;
mod exchange;
mod line;
mod loci;
mod run;
mod shown;
mod tools;

use std::ffi::{OsStr, OsString};
use std::path::Path;

pub use line::Line;
pub use run::{ai_memory, perform};

use crate::cli::terminal::fail::Failure;

/// Names of the programs, with the file names of links to memdir that behave as they do.
pub const NAMES: [&str; 2] = ["ai-memory", "loci"];

/// Returns the words of a command line, with `as PROGRAM` added where the program was started by a link
/// that is called as another one.
pub fn words(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let called = words.first().map(Path::new).and_then(Path::file_stem);
    let program = NAMES
        .into_iter()
        .find(|name| called == Some(OsStr::new(name)));
    if let Some(program) = program {
        words.splice(..1, ["memdir", "as", program].map(OsString::from));
    }
    words
}

/// Reads a line of another program: its name, then its words. `variable` is the value of one of the
/// environment, `folder` the working folder.
///
/// # Errors
///
/// Fails for a program that is not known, and for a database in the place of a store.
pub fn read(
    words: &[OsString],
    variable: &dyn Fn(&str) -> Option<String>,
    folder: &Path,
) -> Result<Line, Failure> {
    let (program, words) = words.split_first().expect("the program is required");
    match program.to_str() {
        Some("ai-memory") => ai_memory::read(words, variable, folder),
        Some("loci") => Ok(Line::Memdir(loci::words(words))),
        _ => Err(Failure::new(format!(
            "memdir knows no command line of `{}`",
            program.to_string_lossy()
        ))
        .hint(format!("It is one of {}.", NAMES.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &[&str]) -> Vec<String> {
        let line = line.iter().map(OsString::from);
        let words = words(line).into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_link_is_the_program_that_it_is_called_as() {
        let line = said(&["/usr/bin/ai-memory", "list", "--json"]);
        assert_eq!(line, ["memdir", "as", "ai-memory", "list", "--json"]);
        assert_eq!(said(&["loci.exe"]), ["memdir", "as", "loci"]);
        assert_eq!(said(&["./memdir", "list"]), ["./memdir", "list"]);
        assert!(said(&[]).is_empty());
    }
}
