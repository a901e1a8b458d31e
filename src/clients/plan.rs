//! Plans: which files a set-up changes, and into what. A plan reads files and changes none.

use std::fs;
use std::path::{Path, PathBuf};

use super::client::{Client, Folders, Scope};
use super::error::EditError;
use super::part::{self, Contents, Part};
use super::record::{Record, Records, digest};
use super::style::ServerStyle;

/// Larger files are left alone. The largest configuration in use, that of Claude Code with the history of
/// all its projects, has a few MB.
const MAX_BYTES: u64 = 64 << 20;

/// Request to set clients up, or to take memdir out of them.
#[derive(Debug)]
pub struct Request<'a> {
    pub clients: &'a [&'static Client],
    pub scope: Scope,
    pub parts: &'a [Part],
    pub folders: &'a Folders,
    pub records: Option<&'a Records>,
}

/// Change of one file.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file as the client names it.
    pub path: PathBuf,
    /// The file itself, where that is a link.
    pub target: PathBuf,
    /// Whose parts it is about.
    pub parts: Vec<(&'static Client, Part)>,
    /// Its text; `None` where there is no file.
    pub before: Option<String>,
    /// Its text afterwards; `None` where the file is removed.
    pub after: Option<String>,
    /// Record of it afterwards.
    pub(super) record: Option<Record>,
    /// Folders to remove if they are empty, innermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// A part that is not put in or taken out, and the reason.
#[derive(Debug, Clone)]
pub struct LeftAlone {
    pub client: &'static Client,
    pub part: Part,
    pub path: PathBuf,
    pub why: String,
}

/// A part as a text for pasting into a file.
#[derive(Debug, Clone)]
pub struct Snippet {
    pub client: &'static Client,
    pub part: Part,
    pub path: PathBuf,
    pub text: String,
}

/// Changes that a set-up makes.
#[derive(Debug, Default)]
pub struct Plan {
    /// Files, each once. Where `before` is `after`, only the record of it changes.
    pub changes: Vec<Change>,
    pub left: Vec<LeftAlone>,
    /// Parts for files that memdir does not change.
    pub by_hand: Vec<LeftAlone>,
    /// Clients whose entry runs another command, chosen by a person, with the file.
    pub kept: Vec<(&'static Client, PathBuf)>,
}

impl Plan {
    /// Returns the files whose text changes.
    pub fn changed(&self) -> impl Iterator<Item = &Change> {
        self.changes
            .iter()
            .filter(|change| change.before != change.after)
    }
}

/// One file while its plan is made.
struct Draft {
    path: PathBuf,
    target: PathBuf,
    original: Option<String>,
    text: Option<String>,
    known: Option<Record>,
    record: Record,
    parts: Vec<(&'static Client, Part)>,
}

/// Returns the plan that puts the parts of clients into their files.
pub fn set_up(request: &Request<'_>, contents: &Contents) -> Plan {
    let mut plan = Plan::default();
    let mut drafts: Vec<Draft> = Vec::new();
    each(request, |client, part, path| {
        let leave = |why: String| LeftAlone {
            client,
            part,
            path: path.clone(),
            why,
        };
        if part == Part::Server && client.server.style == ServerStyle::Yaml {
            plan.by_hand.push(leave(EditError::ByHand.to_string()));
            return;
        }
        let place = match draft(&mut drafts, &path, request.records) {
            Ok(place) => place,
            Err(why) => return plan.left.push(leave(why)),
        };
        let draft = &mut drafts[place];
        let text = draft.text.as_deref().unwrap_or_default();
        let own = draft.record.server.as_ref();
        match part.put(text, contents, client, request.scope, own) {
            Err(error) => plan.left.push(leave(error.to_string())),
            Ok(put) => {
                draft.text = Some(put.text);
                if put.server.is_some() {
                    draft.record.server = put.server;
                }
                draft.record.add(client.name, part);
                draft.parts.push((client, part));
                if put.keeps_command {
                    plan.kept.push((client, path.clone()));
                }
            }
        }
    });
    for mut draft in drafts {
        let is_known = draft.known.is_some();
        let Some(text) = draft.text.filter(|_| !draft.parts.is_empty()) else {
            continue;
        };
        let is_same = draft.original.as_ref() == Some(&text);
        draft.record.after = digest(&text);
        for folder in missing_folders(&draft.target) {
            let folder = folder.display().to_string();
            if !draft.record.folders.contains(&folder) {
                draft.record.folders.push(folder);
            }
        }
        // What stood there before memdir noted anything is a person's.
        let is_noted = !is_same || is_known;
        if is_same && draft.known.as_ref() == Some(&draft.record) || !is_noted {
            continue;
        }
        plan.changes.push(Change {
            path: draft.path,
            target: draft.target,
            parts: draft.parts,
            before: draft.original,
            after: Some(text),
            record: Some(draft.record),
            folders: Vec::new(),
        });
    }
    plan
}

/// Returns the plan that takes the parts of clients out of their files. A file that only memdir changed
/// gets the text that it had. Where nothing tells who wrote the entry of the server, one with another command than
/// that of `contents` is a person's, and stays.
pub fn take_out(request: &Request<'_>, contents: &Contents) -> Plan {
    let mut plan = Plan::default();
    let mut files: Vec<(PathBuf, Vec<(&'static Client, Part)>)> = Vec::new();
    each(request, |client, part, path| {
        if part == Part::Server && client.server.style == ServerStyle::Yaml {
            return;
        }
        match files.iter_mut().find(|(known, _)| *known == path) {
            Some((_, parts)) => parts.push((client, part)),
            None => files.push((path, vec![(client, part)])),
        }
    });
    for (path, mut parts) in files {
        let (client, part) = parts[0];
        let leave = |client, part, why: String| LeftAlone {
            client,
            part,
            path: path.clone(),
            why,
        };
        let target = match resolved(&path) {
            Ok(target) => target,
            Err(why) => {
                plan.left.push(leave(client, part, why));
                continue;
            }
        };
        let known = request.records.and_then(|records| records.find(&target));
        let text = match read(&target) {
            Ok(text) => text,
            // What was never changed is nothing to take back.
            Err(_) if known.is_none() => continue,
            Err(why) => {
                plan.left.push(leave(client, part, why));
                continue;
            }
        };
        if known.is_none() && request.scope == Scope::User {
            parts.retain(|(client, part)| {
                let text = text.as_deref().unwrap_or_default();
                let is_theirs = *part == Part::Server
                    && part::has_other_command(text, contents, client, request.scope);
                if is_theirs {
                    plan.kept.push((client, path.clone()));
                }
                !is_theirs
            });
        }
        let taken = taken(&text, known.as_ref(), &parts);
        let (after, record, taken) = match taken {
            Ok(taken) => taken,
            Err((client, part, error)) => {
                if known.is_some() {
                    plan.left.push(leave(client, part, error.to_string()));
                }
                continue;
            }
        };
        if after == text && record == known {
            continue;
        }
        let made = known.iter().flat_map(|known| known.folders.iter().rev());
        let folders = match after {
            Some(_) => Vec::new(),
            None => made.map(PathBuf::from).collect(),
        };
        plan.changes.push(Change {
            path,
            target,
            parts: taken,
            before: text,
            after,
            record,
            folders,
        });
    }
    plan
}

/// Returns the parts of clients as texts for pasting.
pub fn snippets(request: &Request<'_>, contents: &Contents) -> Vec<Snippet> {
    let mut snippets = Vec::new();
    each(request, |client, part, path| {
        snippets.push(Snippet {
            client,
            part,
            path,
            text: part.snippet(contents, client, request.scope),
        });
    });
    snippets
}

/// Calls `act` with each part of each client that has a file, and the path of it.
fn each(request: &Request<'_>, mut act: impl FnMut(&'static Client, Part, PathBuf)) {
    for client in request.clients {
        for part in request.parts {
            if let Some(place) = part.place(client, request.scope) {
                act(client, *part, request.folders.path(place));
            }
        }
    }
}

type Taken = (Option<String>, Option<Record>, Vec<(&'static Client, Part)>);
type NotTaken = (&'static Client, Part, EditError);

/// Returns the text of a file without parts, what is known of it afterwards, and which parts these were.
fn taken(
    text: &Option<String>,
    known: Option<&Record>,
    parts: &[(&'static Client, Part)],
) -> Result<Taken, NotTaken> {
    let mut rest = known.cloned();
    let mut taken = Vec::new();
    for (client, part) in parts {
        let noted = rest.as_mut().map(|rest| &mut rest.clients);
        let is_own = noted.is_none_or(|clients| {
            let Some(listed) = clients.get_mut(client.name) else {
                return false;
            };
            let is_listed = listed.contains(part);
            listed.retain(|listed| listed != part);
            if listed.is_empty() {
                clients.remove(client.name);
            }
            is_listed
        });
        if is_own {
            taken.push((*client, *part));
        }
    }
    let rest = rest.filter(|rest| !rest.clients.is_empty());
    let Some(text) = text else {
        // Somebody removed the file.
        return Ok((None, None, taken));
    };
    if let (None, Some(known)) = (&rest, known.filter(|known| known.is_current(text))) {
        return Ok((known.before.clone(), None, taken));
    }
    let before = match known {
        Some(known) => known.before.clone(),
        // Nobody knows what else was there: no object and no file is removed for being empty.
        None => Some(text.clone()),
    };
    let mut after = Some(text.clone());
    for (client, part) in &taken {
        let is_shared = rest
            .as_ref()
            .is_some_and(|rest| rest.clients.values().any(|parts| parts.contains(part)));
        let Some(text) = after.as_deref().filter(|_| !is_shared) else {
            continue;
        };
        let is_skill = *part == Part::Skill && known.is_none();
        let before = before.as_deref().filter(|_| !is_skill);
        after = part
            .take(text, client, before)
            .map_err(|error| (*client, *part, error))?;
    }
    let rest = rest.map(|mut rest| {
        rest.after = digest(after.as_deref().unwrap_or_default());
        rest
    });
    Ok((after, rest, taken))
}

/// Returns the place of the draft of a file among the drafts, which is begun if there is none.
fn draft(drafts: &mut Vec<Draft>, path: &Path, records: Option<&Records>) -> Result<usize, String> {
    let target = resolved(path)?;
    if let Some(place) = drafts.iter().position(|draft| draft.target == target) {
        return Ok(place);
    }
    let original = read(&target)?;
    let known = records.and_then(|records| records.find(&target));
    let record = match (&known, &original) {
        (Some(known), Some(text)) if known.is_current(text) => known.clone(),
        // Others changed it since: without memdir's parts it is what they mean it to be.
        (Some(known), Some(text)) => {
            let parts = known.clients.iter().flat_map(|(name, parts)| {
                parts
                    .iter()
                    .map(move |part| (super::table::named(name), *part))
            });
            let mut before = Some(text.clone());
            for (client, part) in parts {
                if let (Some(client), Some(text)) = (client, &before) {
                    let earlier = known.before.as_deref();
                    before = part
                        .take(text, client, earlier)
                        .map_err(|error| error.to_string())?;
                }
            }
            let mut record = known.clone();
            record.before = before;
            record
        }
        _ => Record::new(&target, original.as_deref()),
    };
    drafts.push(Draft {
        path: path.to_owned(),
        target,
        text: original.clone(),
        original,
        known,
        record,
        parts: Vec::new(),
    });
    Ok(drafts.len() - 1)
}

/// Returns the file that a path leads to, which need not exist.
pub(super) fn resolved(path: &Path) -> Result<PathBuf, String> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => path
            .canonicalize()
            .map_err(|error| format!("it is a link that leads nowhere ({error})")),
        _ => Ok(path.to_owned()),
    }
}

/// Returns the text of a file that may be changed; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.permissions().readonly() {
        return Err("it is read-only".to_owned());
    }
    if metadata.len() > MAX_BYTES {
        let megabytes = metadata.len() >> 20;
        return Err(format!(
            "it has {megabytes} MB, more than {} MB",
            MAX_BYTES >> 20
        ));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err("it is not UTF-8".to_owned()),
    }
}

/// Returns the folders above a file that do not exist, outermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let missing = above.take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}
