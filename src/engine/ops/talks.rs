//! Keeps conversations as memories: `memdir mine`.
//!
//! A session is one memory, or several that continue each other where it is long. Their handles follow
//! from source, session and part, so a second run finds them by their names and changes no byte; a session
//! that went on is appended to its last part. A part that was forgotten or purged ends its session: it is
//! not brought back. Unless the user says otherwise, talks are not committed (`LiveStore::is_local`).

use std::collections::{BTreeSet, HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::names::SOURCE_ID;
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::writer::Collecting;
use crate::engine::write::{new, put, screen};
use crate::files::{FilesError, Lock, Place, Replaced, Version};
use crate::learning::{Company, ending};
use crate::model::{
    Change, Handle, Kind, Link, Memory, MetaValue, NewMemory, Patch, Stem, TALK, Timestamp,
    normalized_namespace,
};
use crate::talks::{Format, Grown, MAX_PART_BYTES, Message, Part, Session};
use crate::{format, secrets, talks};

/// Tool in records and notes.
const MINE: &str = "mine";

/// Relation of a part to the one before it.
const CONTINUES: &str = "continues";

/// Metadata keys of a talk, beside [`SOURCE_ID`] and [`TALK`].
const SESSION_ID: &str = "session_id";
const PART: &str = "part";
const MESSAGES: &str = "messages";
const STARTED: &str = "started";
pub(in crate::engine) const ENDED: &str = "ended";
const FOLDER: &str = "folder";
const DIGEST: &str = "digest";
/// Line that says how the session ended, for the brief.
pub(in crate::engine) const ENDING: &str = "ending";

/// Maximum size of a text of metadata that comes from a source.
const MAX_TEXT_BYTES: usize = 512;

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mined {
    /// It is new here.
    New {
        /// Its memories, in order; none in a dry run.
        stems: Vec<Stem>,
        /// Number of its parts.
        parts: usize,
    },
    /// It went on since it was mined.
    Continued {
        /// Memories that were added or appended to; none in a dry run.
        stems: Vec<Stem>,
        /// Its memories that were there before, in order.
        known: Vec<Stem>,
        /// Number of messages that were added.
        messages: usize,
    },
    /// It is here as it is.
    Known {
        /// Its memories, in order.
        stems: Vec<Stem>,
    },
    /// It was forgotten or purged here.
    Forgotten,
}

/// Writes sessions into a store. What was written is durable once [`Mining::finish`] returns.
pub struct Mining<'a> {
    /// Namespace of new sessions, in place of that of their projects.
    pub namespace: Option<String>,
    engine: &'a Engine,
    user: String,
    is_dry_run: bool,
    /// Files of each handle.
    files: HashMap<Handle, Vec<(Place, String)>>,
    purged: HashSet<Handle>,
    /// Folders below `files/` with new files, which are to be synced.
    folders: BTreeSet<String>,
    _together: Collecting<'a>,
    _lock: Option<Lock>,
}

/// What is there of one part.
enum Known {
    /// The live memory of the part.
    Live(Box<Last>),
    /// It was forgotten or purged.
    Gone,
    /// There is none; it gets this handle.
    Free(Handle),
}

/// A live part.
struct Last {
    name: String,
    version: Version,
    memory: Memory,
}

/// Messages that are to be written, and how they are counted.
struct Rest<'a> {
    messages: &'a [Message],
    from: usize,
    /// Whether `messages` are all of the session, so that numbers count in it.
    is_whole: bool,
}

impl<'a> Mining<'a> {
    /// Begins to write talks of `user`; with `is_dry_run` it only says what would be done.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read or written, or if another process mines.
    pub fn begin(
        engine: &'a Engine,
        user: &str,
        is_dry_run: bool,
    ) -> Result<Mining<'a>, EngineError> {
        let mut lock = None;
        if !is_dry_run {
            engine.writer.check_writable()?;
            engine.writer.create()?;
            let path = engine.live.state().join("import.lock");
            lock = Some(Lock::take(&path, "another import")?);
        }
        let mut files: HashMap<Handle, Vec<(Place, String)>> = HashMap::new();
        for place in [Place::Files, Place::Archive] {
            for entry in engine.live.store.list(place)?.entries {
                if let Some(handle) = stem_of(&entry.name).handle() {
                    files.entry(handle).or_default().push((place, entry.name));
                }
            }
        }
        let purged = engine.live.store.purged()?;
        let purged = purged.iter().filter_map(|stem| Stem::parse(stem)?.handle());
        Ok(Mining {
            namespace: None,
            engine,
            user: user.to_owned(),
            is_dry_run,
            files,
            purged: purged.collect(),
            folders: BTreeSet::new(),
            _together: engine.writer.collect_records(),
            _lock: lock,
        })
    }

    /// Keeps a session, or what it has more than is here.
    ///
    /// # Errors
    ///
    /// Fails if a memory cannot be read or written. What was written before stays; the next run goes on.
    pub fn keep(&mut self, session: &Session) -> Result<Mined, EngineError> {
        let mut last: Option<Box<Last>> = None;
        let mut known = Vec::new();
        let mut number = 1;
        let handle = loop {
            match self.part(session, number)? {
                Known::Live(part) => {
                    known.push(part.memory.stem.clone());
                    last = Some(part);
                }
                Known::Gone => return Ok(Mined::Forgotten),
                Known::Free(handle) => break handle,
            }
            number += 1;
        };
        let later;
        let rest = match &last {
            None => Rest {
                messages: &session.messages,
                from: 0,
                is_whole: true,
            },
            Some(last) => match already_there(&last.memory, session) {
                Some(from) => Rest {
                    messages: &session.messages,
                    from,
                    is_whole: true,
                },
                None => {
                    later = later_than(&last.memory, session);
                    Rest {
                        messages: &later,
                        from: 0,
                        is_whole: false,
                    }
                }
            },
        };
        let count = rest.messages.len() - rest.from;
        if count == 0 {
            return Ok(Mined::Known { stems: known });
        }
        let is_new = last.is_none();
        let (stems, parts) = self.write(session, &rest, last, (number, handle))?;
        Ok(match is_new {
            true => Mined::New { stems, parts },
            false => Mined::Continued {
                stems,
                known,
                messages: count,
            },
        })
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be synced.
    pub fn finish(self) -> Result<(), EngineError> {
        for folder in &self.folders {
            self.engine.writer.sync_folder(Place::Files, folder)?;
        }
        Ok(())
    }

    /// Finds a part of a session.
    fn part(&self, session: &Session, number: usize) -> Result<Known, EngineError> {
        let id = part_id(session, number);
        for draw in 0..new::MAX_DRAWS {
            let handle = talks::handle(session.format, &session.id, number, draw);
            if self.purged.contains(&handle) {
                return Ok(Known::Gone);
            }
            let Some(files) = self.files.get(&handle) else {
                return Ok(Known::Free(handle));
            };
            for (place, name) in files {
                let reader = self.engine.live.store.reader(*place);
                let version = match reader.read(name, u64::MAX) {
                    Ok(version) => version,
                    // Forgotten meanwhile.
                    Err(FilesError::Missing { .. }) => return Ok(Known::Gone),
                    Err(error) => return Err(error.into()),
                };
                let memory = parse(&version.entry, &version.bytes);
                if memory.metadata_text(SOURCE_ID) != Some(&id) {
                    continue;
                }
                let name = name.clone();
                return Ok(match place {
                    Place::Archive => Known::Gone,
                    Place::Files => Known::Live(Box::new(Last {
                        name,
                        version,
                        memory,
                    })),
                });
            }
        }
        Err(EngineError::Invalid(format!(
            "no free name was found for `{id}` in {} draws",
            new::MAX_DRAWS
        )))
    }

    /// Writes messages: behind the text of `last` as far as there is room, then as new parts. Returns the
    /// memories, and the number of parts.
    fn write(
        &mut self,
        session: &Session,
        rest: &Rest<'_>,
        last: Option<Box<Last>>,
        (mut number, handle): (usize, Handle),
    ) -> Result<(Vec<Stem>, usize), EngineError> {
        let grown = last.as_ref().map(|last| Grown {
            bytes: last.memory.content.len(),
            last: moment(&last.memory, ENDED),
        });
        let parts = talks::cut(rest.messages, rest.from, grown);
        let count = parts.len();
        let mut previous = last.as_ref().map(|last| last.memory.stem.clone());
        let mut handle = Some(handle);
        let mut stems = Vec::new();
        for (at, part) in parts.into_iter().enumerate() {
            if self.is_dry_run {
                break;
            }
            let state = state_of(session, rest, &part, at + 1 == count);
            if let Some(last) = last.as_ref().filter(|_| part.is_appended) {
                self.append(last, &part, &state)?;
                stems.push(last.memory.stem.clone());
                continue;
            }
            let drawn = match handle.take() {
                Some(handle) => handle,
                None => match self.part(session, number)? {
                    Known::Free(handle) => handle,
                    Known::Live(_) | Known::Gone => {
                        return Err(EngineError::Invalid(format!(
                            "`{}` is written by another process; run it again",
                            part_id(session, number)
                        )));
                    }
                },
            };
            let namespace = match &last {
                Some(last) => last.memory.namespace.clone(),
                None => self.namespace_of(session),
            };
            let place = (number, drawn, namespace);
            let stem = self.add(session, &part, &state, place, previous.as_ref())?;
            previous = Some(stem.clone());
            stems.push(stem);
            number += 1;
        }
        Ok((stems, count))
    }

    fn namespace_of(&self, session: &Session) -> Option<String> {
        let named = self.namespace.as_deref().or_else(|| session.project());
        named.map(|name| normalized_namespace(&short(name)).into_owned())
    }

    /// Writes a new part.
    fn add(
        &mut self,
        session: &Session,
        part: &Part,
        state: &[(String, MetaValue)],
        (number, handle, namespace): (usize, Handle, Option<String>),
        previous: Option<&Stem>,
    ) -> Result<Stem, EngineError> {
        let writer = &self.engine.writer;
        let at = part.first.or_else(|| session.first());
        let timestamp = Timestamp::from_utc(at.unwrap_or_else(|| self.engine.live.clock.now()));
        let stem = Stem::new(timestamp.utc(), handle);
        let text = |text: &str| MetaValue::Text(short(text));
        let mut metadata = vec![
            (SOURCE_ID.to_owned(), text(&part_id(session, number))),
            (SESSION_ID.to_owned(), text(&session.id)),
            (TALK.to_owned(), MetaValue::Bool(true)),
            (PART.to_owned(), whole(number)),
        ];
        if let Some(at) = part.first {
            let at = Timestamp::from_utc(at);
            metadata.push((STARTED.to_owned(), text(at.as_str())));
        }
        if let Some(folder) = &session.folder {
            metadata.push((FOLDER.to_owned(), text(&secrets::redact(folder))));
        }
        metadata.extend_from_slice(state);
        let title = session.title();
        let title = match number {
            1 => title,
            number => format!("{title} ({number})"),
        };
        let links = previous.map(|previous| Link {
            to: previous.as_str().to_owned(),
            relation: CONTINUES.to_owned(),
        });
        let memory = NewMemory {
            timestamp: Some(timestamp.clone()),
            agent: session.format.as_str().to_owned(),
            user: self.user.clone(),
            topics: vec![session.format.as_str().to_owned()],
            title: Some(title),
            kind: Some(Kind::Episodic),
            namespace,
            source: Some(session.format.as_str().to_owned()),
            links: links.into_iter().collect(),
            metadata,
            content: part.text.clone(),
            ..NewMemory::default()
        };
        let name = self.engine.live.talk_name(&stem);
        let bytes = format::render(&memory, &stem, &timestamp)?.into_bytes();
        let bytes = self.clean(&name, bytes)?;
        writer.add_unsynced(&name, &bytes)?;
        writer.note_change(MINE, &name);
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        if self.folders.insert(folder.to_owned()) {
            // Only a help for the user's own git: nothing of memdir's depends on it.
            if let Err(error) = self.engine.live.keep_talks_out_of_git() {
                tracing::warn!("cannot write a .gitignore for talks: {error}");
            }
        }
        self.files
            .entry(handle)
            .or_default()
            .push((Place::Files, name));
        Ok(stem)
    }

    /// Appends to the last part.
    fn append(
        &self,
        last: &Last,
        part: &Part,
        state: &[(String, MetaValue)],
    ) -> Result<(), EngineError> {
        let writer = &self.engine.writer;
        let name = &last.name;
        let mut seen = (last.version.clone(), last.memory.clone());
        put::until_put(last.memory.stem.as_str(), || {
            let (version, memory) = &seen;
            let mut content = memory.content.clone();
            if !content.ends_with('\n') {
                content.push('\n');
            }
            content.push('\n');
            content.push_str(&part.text);
            let mut metadata = memory.metadata.clone();
            for (key, value) in state {
                match metadata.iter_mut().find(|(known, _)| known == key) {
                    Some((_, known)) => *known = value.clone(),
                    None => metadata.push((key.clone(), value.clone())),
                }
            }
            let change = Change {
                content: Some(content),
                metadata: Patch::Set(metadata),
                ..Change::default()
            };
            let bytes = self.clean(name, format::edit(&version.bytes, &change)?)?;
            // The former text is the beginning of the new one: it needs no copy where there is no history.
            if !self.engine.live.is_local(name) {
                return Ok(put::put(writer, name, version, &bytes, MINE)?.map(drop));
            }
            let replaced = writer.replace((Place::Files, name), version, &bytes)?;
            if replaced == Replaced::Stale {
                let reader = self.engine.live.store.reader(Place::Files);
                let version = reader.read(name, u64::MAX)?;
                let memory = parse(&version.entry, &version.bytes);
                seen = (version, memory);
                return Ok(None);
            }
            writer.note_change(MINE, name);
            Ok(Some(()))
        })
    }

    /// Returns the bytes of a file without credentials that only its whole text shows.
    fn clean(&self, name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, EngineError> {
        let found = screen::not_allowed(&bytes);
        if found.is_empty() {
            return Ok(bytes);
        }
        let redacted = screen::redacted(&self.engine.writer, name, &bytes, &[]);
        redacted.ok_or(EngineError::Secrets(found))
    }
}

/// Returns the id of a part in its source.
fn part_id(session: &Session, number: usize) -> String {
    match number {
        1 => session.id.clone(),
        number => format!("{}#{number}", session.id),
    }
}

/// Returns the number of messages that are there already, if they are still the first of the session.
fn already_there(last: &Memory, session: &Session) -> Option<usize> {
    let count = match value(last, MESSAGES)? {
        MetaValue::Int(count) => usize::try_from(*count).ok()?,
        _ => return None,
    };
    let known = session.messages.get(..count)?;
    (last.metadata_text(DIGEST)? == talks::fingerprint(known)).then_some(count)
}

/// Returns the messages later than all that are there, of a session whose earlier messages were changed in
/// its source: what was mined stays. Without times these are the messages whose texts are not there, if all
/// that is there is one memory.
fn later_than(last: &Memory, session: &Session) -> Vec<Message> {
    let ended = moment(last, ENDED);
    let is_alone = value(last, PART) == Some(&MetaValue::Int(1));
    let is_later = |message: &&Message| match ended {
        Some(ended) => message.at.is_some_and(|at| at > ended),
        None => is_alone && !last.content.contains(&message.text),
    };
    session.messages.iter().filter(is_later).cloned().collect()
}

/// Returns the metadata that says how much of a session is there.
fn state_of(
    session: &Session,
    rest: &Rest<'_>,
    part: &Part,
    is_last: bool,
) -> Vec<(String, MetaValue)> {
    // Between parts of changed messages no number is right: only times count until the last one is there.
    let count = match (rest.is_whole, is_last) {
        (true, _) => part.end,
        (false, true) => session.messages.len(),
        (false, false) => 0,
    };
    let digest = talks::fingerprint(&session.messages[..count]);
    let ended = part.last.map(|at| {
        let at = Timestamp::from_utc(at);
        (ENDED.to_owned(), MetaValue::Text(at.as_str().to_owned()))
    });
    let mut state: Vec<(String, MetaValue)> = ended.into_iter().collect();
    state.push((MESSAGES.to_owned(), whole(count)));
    state.push((DIGEST.to_owned(), MetaValue::Text(digest)));
    let company = match session.format {
        Format::Slack => Company::People,
        _ => Company::WithAssistant,
    };
    let ending = ending(&part.text, company);
    state.extend(ending.map(|line| (ENDING.to_owned(), MetaValue::Text(short(&line)))));
    state
}

fn whole(number: usize) -> MetaValue {
    MetaValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn value<'a>(memory: &'a Memory, key: &str) -> Option<&'a MetaValue> {
    let mut metadata = memory.metadata.iter();
    metadata.find_map(|(known, value)| (known == key).then_some(value))
}

/// Returns a moment in the metadata of a talk.
pub(in crate::engine) fn moment(memory: &Memory, key: &str) -> Option<DateTime<Utc>> {
    Some(Timestamp::parse(memory.metadata_text(key)?)?.utc())
}

/// Returns the beginning of a text that a frontmatter has room for.
fn short(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

// A part with its frontmatter is far below the largest memory.
const _: () = assert!(MAX_PART_BYTES < format::MAX_CONTENT_BYTES / 2);
