//! `memdir export --to FOLDER`: the memories as a folder of notes.
//!
//! Promises: each file is the memory's own, byte for byte but for links that name others by what they
//! are called here; nothing that is there is replaced.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::json;

use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, ops};
use crate::files::FilePlaced;
use crate::format;
use crate::format::NoteLink;
use crate::model::{Filter, Memory};

/// Maximum length of a file's name in bytes: with an id and an ending every file system takes it.
const LONGEST_NAME: usize = 180;

/// The names of memories here and there.
#[derive(Default)]
struct Names {
    /// File in the store → file in the folder.
    given: Vec<(String, String)>,
    /// The same, by what links call a memory: stem, id, or path, in small letters.
    by_id: HashMap<String, Option<usize>>,
    taken: BTreeSet<String>,
}

pub fn export(
    context: &mut Context,
    engine: &Engine,
    filter: &Filter,
    folder: &Path,
) -> Result<Outcome, Failure> {
    let folder = context.environment.folder.join(folder);
    let cannot =
        |what: &str| Failure::new(format!("cannot export to {}: {what}", folder.display()));
    if !folder.exists() {
        let above_is_there = folder.parent().is_some_and(Path::is_dir);
        if !above_is_there {
            return Err(cannot("the folder it would lie in does not exist"));
        }
        crate::files::create_private_folder(&folder).map_err(|error| cannot("").because(error))?;
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (target, root) = (
        real(&folder),
        real(engine.live.notes().unwrap_or(engine.live.root())),
    );
    if target.starts_with(&root) {
        let hint =
            "Name a folder outside of the store: what is written here would be memories again.";
        return Err(cannot("it lies in the store").hint(hint));
    }
    let mut memories = Vec::new();
    ops::export(engine, filter, &mut |memory, name| {
        memories.push((memory, name));
    })?;
    let mut names = Names::default();
    for (memory, name) in &memories {
        names.add(engine, memory, name);
    }
    let (mut new, mut known, mut left) = (0_usize, 0_usize, Vec::new());
    for (name, given) in &names.given {
        let Some(bytes) = engine.live.text_of(name) else {
            left.push((given.clone(), "it went away meanwhile".to_owned()));
            continue;
        };
        let bytes = names.relinked(name, given, bytes);
        match crate::files::give(&folder, given, &bytes) {
            Ok(FilePlaced::New) => new += 1,
            Ok(FilePlaced::Known) => known += 1,
            Ok(FilePlaced::Taken) => {
                left.push((given.clone(), "another text is there, and stays".to_owned()));
            }
            Err(error) => left.push((given.clone(), error.to_string())),
        }
    }
    let output = &mut context.output;
    if output.json {
        let left = left.iter();
        let left: Vec<_> = left
            .map(|(file, reason)| json!({"file": file, "reason": reason}))
            .collect();
        output.json(&json!({"folder": folder.display().to_string(), "written": new, "known": known, "left": left}))?;
    } else {
        output.line(format!(
            "wrote {new} files to {}, {known} were there",
            folder.display()
        ))?;
        for (file, reason) in &left {
            let said = output.shown(&format!("not written: {file}: {reason}"));
            output.note(said);
        }
    }
    Ok(match (left.is_empty(), names.given.is_empty()) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Nothing,
        (true, false) => Outcome::Done,
    })
}

impl Names {
    /// Gives the memory in the file `name` a file of its own.
    fn add(&mut self, engine: &Engine, memory: &Memory, name: &str) {
        let stem = memory.stem.as_str();
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
        let folder = match engine.live.is_placed(&memory.stem, name) {
            // Its folder says nothing: the project does.
            true => folder_of_namespace(memory),
            false => folder.to_owned(),
        };
        let file = match memory.stem.is_canonical() {
            true => file_name(memory.headline()).unwrap_or_else(|| stem.to_owned()),
            false => own.strip_suffix(".md").unwrap_or(own).to_owned(),
        };
        let in_folder = |file: &str| match folder.as_str() {
            "" => format!("{file}.md"),
            folder => format!("{folder}/{file}.md"),
        };
        let mut given = in_folder(&file);
        // On some systems capital letters tell no two names apart.
        if self.taken.contains(&given.to_lowercase()) {
            given = in_folder(&format!("{file} {}", memory.stem.short()));
        }
        if !self.taken.insert(given.to_lowercase()) {
            given = in_folder(&format!("{file} {stem}"));
            self.taken.insert(given.to_lowercase());
        }
        let number = self.given.len();
        let path = name.strip_suffix(".md").unwrap_or(name).to_lowercase();
        for id in BTreeSet::from([
            path,
            stem.to_lowercase(),
            memory.stem.short().to_lowercase(),
        ]) {
            self.by_id
                .entry(id)
                .and_modify(|known| *known = None)
                .or_insert(Some(number));
        }
        self.given.push((name.to_owned(), given));
    }

    fn called(&self, id: &str) -> Option<&(String, String)> {
        let number = self.by_id.get(&id.to_lowercase()).copied().flatten()?;
        self.given.get(number)
    }

    /// Returns the bytes of a memory with links that lead to the files of others here.
    fn relinked(&self, name: &str, given: &str, bytes: Vec<u8>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return bytes;
        };
        let wiki = |link: &str| {
            let (name, given) = self.called(link.strip_prefix("files/").unwrap_or(link))?;
            let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
            (file(name) != file(given)).then(|| file(given).trim_end_matches(".md").to_owned())
        };
        let path = |link: &str| {
            let meant = format::path_from(name, link);
            let (_, target) = self.called(meant.strip_suffix(".md")?)?;
            let new = relative(given, target);
            (new != link).then_some(new)
        };
        let relinked = format::relinked(text, &|link| match link {
            NoteLink::Wiki(link) => wiki(link),
            NoteLink::Path(link) => path(link),
        });
        relinked.into_owned().into_bytes()
    }
}

/// Returns the path of `target` as seen from the folder of `from`.
fn relative(from: &str, target: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = target.split('/').collect();
    let (from, last) = (&from[..from.len() - 1], to.len() - 1);
    let pairs = from.iter().zip(&to[..last]);
    let common = pairs.take_while(|(one, other)| one == other).count();
    let mut parts = vec![".."; from.len() - common];
    parts.extend(&to[common..]);
    parts.join("/")
}

fn folder_of_namespace(memory: &Memory) -> String {
    let namespace = memory.namespace.as_deref().unwrap_or_default();
    let parts = namespace.split('/').filter_map(file_name);
    parts.collect::<Vec<_>>().join("/")
}

/// Returns a text as a file's name that every system takes, and links can name; `None` if nothing is left.
fn file_name(text: &str) -> Option<String> {
    let is_bad = |c: char| c.is_control() || "/\\:*?\"<>|#^[]".contains(c);
    let clean: String = text
        .chars()
        .map(|c| if is_bad(c) { ' ' } else { c })
        .collect();
    let clean = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut end = clean.len().min(LONGEST_NAME);
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    // Names that begin with a dot are hidden; ends with one are dropped by some systems.
    let name = clean[..end].trim_matches(['.', ' ']);
    (!name.is_empty()).then(|| name.to_owned())
}
