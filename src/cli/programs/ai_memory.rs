//! Reads a line of ai-memory: which store it is about, and what of it is one of memdir's own commands.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, FromArgMatches};

use super::line::{AiMemoryLine, Line};
use crate::cli::args::programs::ai_memory::{AiMemory, AiMemoryCommand, Mine, Serve};
use crate::cli::terminal::fail::Failure;

/// The variable in which ai-memory finds its database.
pub const DATABASE: &str = "AI_MEMORY_DB";
/// The beginning of a file that SQLite made.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Reads a line, without the program's name.
pub fn read(
    words: &[OsString],
    variable: &dyn Fn(&str) -> Option<String>,
    folder: &Path,
) -> Result<Line, Failure> {
    let name = [OsString::from("ai-memory")];
    let words = name.iter().chain(words);
    let parsed = AiMemory::command().try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| AiMemory::from_arg_matches(&matches));
    let line = match parsed {
        Ok(line) => line,
        Err(error) => {
            let _ = error.print(); // Who does not read it wants none of it.
            return Ok(Line::Shown(u8::try_from(error.exit_code()).unwrap_or(2)));
        }
    };
    let store = match &line.db {
        Some(named) => Some(named_store(named, folder)?),
        None => variable(DATABASE)
            .map(|named| folder.join(named))
            .filter(|named| named.is_dir()),
    };
    let own = match &line.command {
        AiMemoryCommand::Serve(serve) => Some(serving(serve)),
        AiMemoryCommand::Mcp(mcp) => Some(in_words(&[
            "mcp",
            "--dialect",
            "ai-memory",
            "--tier",
            &mcp.tier,
        ])),
        AiMemoryCommand::Mine(mine) => Some(mining(mine)),
        AiMemoryCommand::Shell => Some(in_words(&["shell"])),
        _ => None,
    };
    Ok(match own {
        None => Line::AiMemory(AiMemoryLine {
            store,
            json: line.json,
            command: line.command,
        }),
        Some(mut words) => {
            if let Some(store) = store {
                words.splice(..0, [OsString::from("--store"), store.into_os_string()]);
            }
            if line.json {
                words.insert(0, "--json".into());
            }
            Line::Memdir(words)
        }
    })
}

/// Returns the store that `--db` names: a folder that is there, or one to be made.
fn named_store(named: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let path = folder.join(named);
    match is_database(&path) {
        false => Ok(path),
        true => {
            let (what, shown) = ("is a database of ai-memory", named.display());
            Err(
                Failure::new(format!("{shown} {what}, and a store is a folder")).hint(format!(
                    "`memdir import --from ai-memory {shown}` brings its memories into your store, once; --db is not needed then."
                )),
            )
        }
    }
}

/// Returns whether a file was made by SQLite.
pub fn is_database(path: &Path) -> bool {
    let mut begin = [0; SQLITE.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *SQLITE
}

fn serving(serve: &Serve) -> Vec<OsString> {
    let address = match serve.host.contains(':') {
        true => format!("[{}]:{}", serve.host, serve.port),
        false => format!("{}:{}", serve.host, serve.port),
    };
    let mut words = in_words(&["serve", "--dialect", "ai-memory", "--listen", &address]);
    words.extend(serve.more.iter().map(OsString::from));
    words
}

fn mining(mine: &Mine) -> Vec<OsString> {
    let mut words = in_words(&["mine", "--yes", "--format", &mine.format]);
    if let Some(namespace) = &mine.namespace {
        words.extend(in_words(&["--namespace", namespace]));
    }
    if mine.min_messages > 1 {
        let least = mine.min_messages.to_string();
        words.extend(in_words(&["--min-messages", &least]));
    }
    if mine.dry_run {
        words.push("--dry-run".into());
    }
    words.extend(["--".into(), OsString::from(&mine.path)]);
    words
}

fn in_words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line in the words of memdir.
    fn own(line: &str) -> String {
        let line: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let none = |_: &str| None;
        match read(&line, &none, Path::new("/home/mira")).unwrap() {
            Line::Memdir(words) => {
                let words = words.into_iter();
                let words: Vec<String> = words.map(|word| word.into_string().unwrap()).collect();
                words.join(" ")
            }
            _ => panic!("it is none of memdir's own"),
        }
    }

    #[test]
    fn what_memdir_has_itself_is_said_in_its_words() {
        assert_eq!(
            own("serve --host 127.0.0.1 --port 9077"),
            "serve --dialect ai-memory --listen 127.0.0.1:9077"
        );
        assert_eq!(
            own("serve --host ::1 --no-token"),
            "serve --dialect ai-memory --listen [::1]:9077 --no-token"
        );
        assert_eq!(own("mcp"), "mcp --dialect ai-memory --tier semantic");
        let store = Path::new("/home/mira").join("notes");
        let store = store.display();
        assert_eq!(
            own("--db notes mcp --tier smart"),
            format!("--store {store} mcp --dialect ai-memory --tier smart")
        );
        assert_eq!(
            own("mine --format slack export --dry-run"),
            "mine --yes --format slack --dry-run -- export"
        );
        assert_eq!(
            own("mine -f claude -n atlas -t long --min-messages 3 export"),
            "mine --yes --format claude --namespace atlas --min-messages 3 -- export"
        );
        assert_eq!(own("--json shell"), "--json shell");
    }

    #[test]
    fn the_words_are_put_together_well() {
        AiMemory::command().debug_assert();
    }
}
