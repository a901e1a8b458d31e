//! Reads a line of the shell.
//!
//! The commands that ai-memory's shell has are called as there, with the short names that they have
//! there. With an option, or with more words than they take, their names mean memdir's own commands.

use crate::cli::args::programs::ai_memory::{AiMemoryCommand, List, Named, Recall, Search};
use crate::cli::terminal::fail::Failure;

/// Request of a line.
#[derive(Debug)]
pub enum Line {
    /// Blank, or a comment.
    Nothing,
    Quit,
    Help,
    AiMemory(AiMemoryCommand),
    /// The words of memdir's own command line.
    Memdir(Vec<String>),
}

/// The commands of the shell's own: their names, what they take, and what they do.
pub const COMMANDS: [(&[&str], &str, &str); 9] = [
    (
        &["recall", "r"],
        "CONTEXT",
        "memories for a context: any word may match",
    ),
    (&["search", "s"], "WORDS", "memories that hold every word"),
    (&["list", "ls"], "[NAMESPACE]", "the newest memories"),
    (&["get"], "ID", "one memory, whole"),
    (&["stats"], "", "the store in numbers"),
    (
        &["namespaces", "ns"],
        "",
        "the namespaces with their numbers of memories",
    ),
    (
        &["delete", "del", "rm"],
        "ID",
        "move a memory to the archive",
    ),
    (
        &["help", "h"],
        "[COMMAND]",
        "this text, or that of a command of memdir",
    ),
    (&["quit", "exit", "q"], "", "end the shell"),
];

/// Returns the first name of a command of the shell's own.
pub fn own_name(word: &str) -> Option<&'static str> {
    let mut commands = COMMANDS.iter();
    let found = commands.find(|(names, ..)| names.contains(&word));
    found.map(|(names, ..)| names[0])
}

/// Reads a line.
///
/// # Errors
///
/// Fails on a quotation mark without its other one, and where a command lacks what it needs.
pub fn read(line: &str) -> Result<Line, Failure> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(Line::Nothing);
    }
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let has_option = rest.split_whitespace().any(is_option);
    if let Some(name) = own_name(name).filter(|_| !has_option)
        && let Some(own) = own(name, rest)?
    {
        return Ok(own);
    }
    let words = shlex::split(line).ok_or_else(|| {
        Failure::new("a quotation mark has no other one")
            .hint("Write a mark that belongs to the text as \\' or \\\".")
    })?;
    Ok(Line::Memdir(words))
}

/// Returns whether a word is an option: `--limit`, or `-n`. What is longer behind one dash is text.
fn is_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.starts_with('-') && letters.len() > 1
        || letters.len() == 1 && letters.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns what the shell's own command `name` is to do; `None` where memdir's of that name is meant.
fn own(name: &str, rest: &str) -> Result<Option<Line>, Failure> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let id = |id: &str| Named { id: id.to_owned() };
    let command = match (name, words.as_slice()) {
        ("quit", []) => return Ok(Some(Line::Quit)),
        ("help", []) => return Ok(Some(Line::Help)),
        ("recall" | "search", []) => {
            return Err(Failure::new(format!("`{name}` wants words")).hint("`help` shows how."));
        }
        // A text is taken as it is typed, apostrophes and all.
        ("recall", _) => AiMemoryCommand::Recall(Recall::of(rest)),
        ("search", _) => AiMemoryCommand::Search(Search::of(rest)),
        ("list", []) => AiMemoryCommand::List(List::of(None)),
        ("list", [namespace]) => AiMemoryCommand::List(List::of(Some(namespace))),
        ("stats", []) => AiMemoryCommand::Stats,
        ("namespaces", []) => AiMemoryCommand::Namespaces,
        ("get", [one]) => AiMemoryCommand::Get(id(one)),
        ("delete", [one]) => AiMemoryCommand::Delete(id(one)),
        _ => return Ok(None),
    };
    Ok(Some(Line::AiMemory(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let read = match read(line) {
            Ok(Line::AiMemory(AiMemoryCommand::Recall(one))) => format!("recall: {}", one.context),
            Ok(Line::AiMemory(AiMemoryCommand::Search(one))) => format!("search: {}", one.query),
            Ok(Line::AiMemory(AiMemoryCommand::Get(one))) => format!("get: {}", one.id),
            Ok(Line::AiMemory(AiMemoryCommand::Delete(one))) => format!("delete: {}", one.id),
            Ok(Line::AiMemory(AiMemoryCommand::List(one))) => format!("list: {:?}", one.namespace),
            Ok(Line::Memdir(words)) => format!("memdir: {}", words.join("|")),
            Ok(other) => format!("{other:?}"),
            Err(failure) => format!("error: {}", failure.what),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn the_commands_of_the_shell_take_their_texts_as_they_are_typed() {
        check(
            "recall what's due on Tuesday?",
            "recall: what's due on Tuesday?",
        );
        check("  r  two words ", "recall: two words");
        check("search \"deploy\" -staging", "search: \"deploy\" -staging");
        check("get 1f3a", "get: 1f3a");
        check("rm 1f3a", "delete: 1f3a");
        check("ls", "list: None");
        check("list atlas", "list: Some(\"atlas\")");
        check("ns", "AiMemory(Namespaces)");
    }

    #[test]
    fn with_options_or_more_words_they_are_memdirs_own() {
        check("recall 1f3a --verbose", "memdir: recall|1f3a|--verbose");
        check("list -n 3", "memdir: list|-n|3");
        check("get 1f3a 2f3a", "memdir: get|1f3a|2f3a");
        check("help think", "memdir: help|think");
        check("stats --namespace atlas", "memdir: stats|--namespace|atlas");
    }

    #[test]
    fn all_else_is_a_line_of_memdir() {
        check("think 'how do we' deploy", "memdir: think|how do we|deploy");
        check(
            "remember it's broken",
            "error: a quotation mark has no other one",
        );
        check("recall", "error: `recall` wants words");
        check("", "Nothing");
        check("# a comment", "Nothing");
        check("exit", "Quit");
        check("h", "Help");
    }
}
