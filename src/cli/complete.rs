//! Completions for a shell: besides commands and options the ids of memories, with their titles,
//! topics and namespaces.
//!
//! Promises: reads files and nothing else. No index is opened or built, nothing is written, no
//! other host is asked, and no question either; a store that a command would ask about is not read.
//! At most [`MOST_READ`] files are read, the newest.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use chrono::DateTime;
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, EnvCompleter, Shells};

use super::args;
use super::terminal::output::visible;
use crate::config::{Config, Flags};
use crate::files::{LinkPolicy, Place, Storage, Store};
use crate::format;
use crate::model::{Memory, Stem};

/// Set by the scripts of `memdir completions`, to the shell's name.
const VARIABLE: &str = "MEMDIR_COMPLETE";
/// Maximum number of files that are read for one answer: some 50 ms.
const MOST_READ: usize = 1000;
/// Maximum number of memories that are offered; more typed digits narrow them.
const MOST_OFFERED: usize = 100;
/// Maximum length of a title that is shown, in characters.
const LONGEST_TITLE: usize = 60;
/// Maximum number of bytes that are read of each file: its fields stand at the beginning.
const MOST_BYTES: u64 = 16 << 10;
/// Marks the candidates whose titles bash is to show.
const MEMORIES: &str = "memories";

/// Answers the shell's question, if it is one.
pub fn answer() -> bool {
    // Looked at first: the commands are laid out only to answer.
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let shells: [&dyn EnvCompleter; 5] = shells();
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .completer("memdir")
        .shells(Shells(&shells))
        .try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref())
        .unwrap_or_else(|error| error.exit())
}

/// The store of `memdir shell`, which no words on a screen name.
static OWN_STORE: OnceLock<PathBuf> = OnceLock::new();

/// A word that is offered in place of the one that is typed.
pub struct Offer {
    pub value: String,
    /// Description: a title, a number of memories, or what a command does.
    pub about: Option<String>,
}

/// Meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    Memory,
    Namespace,
    Topic,
}

/// Has all later answers be about the store at `root`.
pub fn answer_about(root: &Path) {
    let _ = OWN_STORE.set(root.to_owned()); // A process has one shell.
}

/// Returns what may stand in place of `typed`, after the words of a line before it.
pub fn offers(before: &[String], typed: &str) -> Vec<Offer> {
    let words = std::iter::once("memdir").chain(before.iter().map(String::as_str));
    let words: Vec<OsString> = words.chain([typed]).map(OsString::from).collect();
    let last = words.len() - 1;
    let found = clap_complete::engine::complete(&mut command(), words, last, None);
    found.unwrap_or_default().iter().map(offer).collect()
}

/// Returns the values that begin with `typed`.
pub fn values(meant: Meant, typed: &str) -> Vec<Offer> {
    let found = match meant {
        Meant::Memory => memories(Place::Files, typed),
        Meant::Namespace => offered(OsStr::new(typed), namespaces()),
        Meant::Topic => offered(OsStr::new(typed), topics(typed)),
    };
    found.iter().map(offer).collect()
}

fn offer(candidate: &CompletionCandidate) -> Offer {
    Offer {
        value: candidate.get_value().to_string_lossy().into_owned(),
        about: candidate.get_help().map(ToString::to_string),
    }
}

fn shells() -> [&'static dyn EnvCompleter; 5] {
    use clap_complete::env::{Elvish, Fish, Powershell, Zsh};
    [&BashWithTitles, &Elvish, &Fish, &Powershell, &Zsh]
}

/// Returns the script that has `shell` ask.
pub fn script(shell: &str) -> Vec<u8> {
    let mut script = Vec::new();
    let shells = shells();
    let shells = Shells(&shells);
    let written = shells
        .completer(shell)
        .map(|shell| shell.write_registration(VARIABLE, "memdir", "memdir", "memdir", &mut script));
    debug_assert!(matches!(written, Some(Ok(()))), "every shell has a script");
    script
}

/// Returns the commands, with what completes their values.
fn command() -> Command {
    completing(args::command(), "")
}

fn completing(command: Command, parent: &str) -> Command {
    let name = command.get_name().to_owned();
    let is_archive = parent == "archive" || name == "restore";
    command
        .mut_args(|arg| with_values(arg, is_archive))
        .mut_subcommands(|inner| completing(inner, &name))
}

/// Adds the completer of an argument, chosen by the name of its value in the help.
fn with_values(arg: Arg, is_archive: bool) -> Arg {
    let value = arg.get_value_names().and_then(|names| names.first());
    let value = value.map_or(String::new(), ToString::to_string);
    if !arg.get_possible_values().is_empty() {
        return arg;
    }
    let completer = match (arg.get_id().as_str(), value.as_str()) {
        ("namespace", _) => ArgValueCompleter::new(|typed: &OsStr| offered(typed, namespaces())),
        ("topics", _) => ArgValueCompleter::new(|typed: &OsStr| in_list(typed, topics)),
        (_, "IDS") => ArgValueCompleter::new(|typed: &OsStr| {
            in_list(typed, |last| memories(Place::Files, last))
        }),
        _ if value.starts_with("ID") || is_memory(&value) => match is_archive {
            true => ArgValueCompleter::new(|typed: &OsStr| memories_of(Place::Archive, typed)),
            false => ArgValueCompleter::new(|typed: &OsStr| memories_of(Place::Files, typed)),
        },
        _ => return arg,
    };
    arg.add(completer)
}

/// Returns whether a value's name stands for a memory, as `ID` does.
fn is_memory(value: &str) -> bool {
    ["FROM", "TO", "OLD", "NEW", "LOSER", "COMMIT|ID|PLAN"].contains(&value)
}

fn memories_of(place: Place, typed: &OsStr) -> Vec<CompletionCandidate> {
    typed
        .to_str()
        .map_or_else(Vec::new, |typed| memories(place, typed))
}

/// Candidates for the last entry of a list with commas; one may begin with `+` or `-`.
fn in_list(
    typed: &OsStr,
    candidates: impl Fn(&str) -> Vec<CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let begin = typed.rfind(',').map_or(0, |comma| comma + 1);
    let begin = begin + usize::from(typed[begin..].starts_with(['+', '-']));
    let (before, last) = typed.split_at(begin);
    let candidates = offered(OsStr::new(last), candidates(last));
    let candidates = candidates.into_iter();
    candidates.map(|one| one.add_prefix(before)).collect()
}

fn offered(typed: &OsStr, all: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let typed = typed.as_encoded_bytes();
    let begins = |one: &CompletionCandidate| one.get_value().as_encoded_bytes().starts_with(typed);
    all.into_iter().filter(begins).collect()
}

fn topics(_: &str) -> Vec<CompletionCandidate> {
    counted(|memory| memory.topics.clone())
}

fn namespaces() -> Vec<CompletionCandidate> {
    counted(|memory| {
        vec![
            memory
                .namespace
                .clone()
                .unwrap_or_else(|| "global".to_owned()),
        ]
    })
}

/// Returns the words that memories have, the commonest first, with their number.
fn counted(words: impl Fn(&Memory) -> Vec<String>) -> Vec<CompletionCandidate> {
    let Some(store) = store() else {
        return Vec::new();
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names(&store, Place::Files).iter().take(MOST_READ) {
        for word in read(&store, Place::Files, name).iter().flat_map(&words) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let candidates = counts.into_iter().enumerate();
    candidates
        .filter(|(_, (word, _))| is_harmless(word))
        .map(|(order, (word, count))| {
            CompletionCandidate::new(word)
                .help(Some(count.to_string().into()))
                .display_order(Some(order))
        })
        .collect()
}

/// Returns the memories whose id or file name begins as `typed`, the newest first, with their titles.
fn memories(place: Place, typed: &str) -> Vec<CompletionCandidate> {
    let Some(store) = store() else {
        return Vec::new();
    };
    let names = names(&store, place);
    let stems: Vec<Stem> = names.iter().map(|name| stem_of(name)).collect();
    let mut handles: BTreeMap<&str, usize> = BTreeMap::new();
    for stem in &stems {
        *handles.entry(stem.short()).or_default() += 1;
    }
    let called = |stem: &Stem| {
        let short = stem.short();
        let is_unique = handles.get(short) == Some(&1);
        match is_unique && short.starts_with(typed) {
            true => Some(short.to_owned()),
            false => stem
                .as_str()
                .starts_with(typed)
                .then(|| stem.as_str().to_owned()),
        }
    };
    let found = names
        .iter()
        .zip(&stems)
        .filter_map(|(name, stem)| Some((name, called(stem)?)))
        .filter(|(_, id)| is_harmless(id));
    let candidates = found.take(MOST_OFFERED).enumerate();
    candidates
        .map(|(order, (name, id))| {
            let memory = read(&store, place, name);
            let title = memory.map(|memory| title(&memory)).unwrap_or_default();
            CompletionCandidate::new(id)
                .help((!title.is_empty()).then(|| title.into()))
                .tag(Some(MEMORIES.into()))
                .display_order(Some(order))
        })
        .collect()
}

/// Returns whether `word` is the same to a shell that inserts it as it is, as bash does. What is called
/// otherwise may come from anybody, and is not offered.
fn is_harmless(word: &str) -> bool {
    let begins = word.starts_with(char::is_alphanumeric);
    begins
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "-_./:@+".contains(c))
}

fn title(memory: &Memory) -> String {
    let title = visible(memory.headline());
    let line = title.replace(['\n', '\t', '\u{b}'], " ");
    line.chars().take(LONGEST_TITLE).collect()
}

/// Returns the files' names, the newest memory first.
fn names(store: &Store, place: Place) -> Vec<String> {
    let listing = store.list(place).unwrap_or_default();
    let mut names: Vec<String> = listing
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    // A memory's name begins with its time, whatever folder it lies in.
    names.sort_by(|one, other| file_name(other).cmp(file_name(one)));
    names
}

fn read(store: &Store, place: Place, name: &str) -> Option<Memory> {
    let version = store.reader(place).read(name, MOST_BYTES).ok()?;
    // The time is not shown.
    let time = DateTime::UNIX_EPOCH;
    Some(format::parse(&stem_of(name), &version.bytes, time))
}

fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn stem_of(name: &str) -> Stem {
    let file = file_name(name);
    Stem::from_file_name(file.strip_suffix(".md").unwrap_or(file))
}

/// Returns the store that the command line on the shell's screen is about.
fn store() -> Option<Store> {
    let environment = super::wiring::environment::prepare().ok()?;
    let own = OWN_STORE.get().cloned();
    let flags = Flags {
        store: own.or_else(|| named_store(std::env::args_os())),
        read_only: true,
    };
    let config = Config::read(&flags, &environment).ok()?;
    let root = config.store.value;
    if !crate::config::is_store(&root) {
        return None;
    }
    let record = environment
        .records()
        .and_then(|records| records.find(&root));
    let links = match record {
        Some(record) if record.allow_links => LinkPolicy::Follow,
        _ => LinkPolicy::Refuse,
    };
    Some(Store::at(&root).with_links(links))
}

/// Returns the value of `--store` among the words that the shell hands over.
fn named_store(words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let mut words = words.skip_while(|word| word != "--").skip(1);
    while let Some(word) = words.next() {
        if word == "--store" {
            return words.next().map(PathBuf::from);
        }
        let named = word.to_str().and_then(|word| word.strip_prefix("--store="));
        if let Some(named) = named {
            return Some(PathBuf::from(named));
        }
    }
    None
}

/// Bash has no place for what a candidate is. Where it only lists candidates and inserts none,
/// titles are shown behind the ids.
struct BashWithTitles;

/// `COMP_TYPE` of the list after a second Tab.
const LISTING: &str = "63";

impl EnvCompleter for BashWithTitles {
    fn name(&self) -> &'static str {
        Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        Bash.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> Result<(), std::io::Error> {
        Bash.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> Result<(), std::io::Error> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        if variable("_CLAP_COMPLETE_COMP_TYPE") != LISTING {
            return Bash.write_complete(cmd, args, current_dir, buf);
        }
        let index = variable("_CLAP_COMPLETE_INDEX").parse().unwrap_or_default();
        let candidates = clap_complete::engine::complete(cmd, args, index, current_dir)?;
        let shown = candidates.iter().map(|candidate| {
            let value = candidate.get_value().to_string_lossy();
            let is_memory = candidate
                .get_tag()
                .is_some_and(|tag| tag.to_string() == MEMORIES);
            match candidate.get_help() {
                // A single one would be inserted.
                Some(help) if is_memory && candidates.len() > 1 => format!("{value}  ({help})"),
                _ => value.into_owned(),
            }
        });
        let shown: Vec<String> = shown.collect();
        let between = match variable("_CLAP_IFS").as_str() {
            "" => "\n".to_owned(),
            between => between.to_owned(),
        };
        write!(buf, "{}", shown.join(&between))
    }
}
