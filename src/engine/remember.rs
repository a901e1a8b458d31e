//! Puts a new memory in place.

use std::collections::BTreeMap;

use super::Engine;
use super::EngineError;
use super::hints::Contradicted;
use super::screen::Screened;
use super::update::superseded_by;
use crate::engine::live::reading::parse;
use crate::engine::live::reading::stem_of;
use crate::files::FilesError;
use crate::files::Lock;
use crate::files::Place;
use crate::format;
use crate::lifecycle::Decision;
use crate::lifecycle::DuplicatePolicy;
use crate::lifecycle::IDEMPOTENCY_KEY as KEY;
use crate::lifecycle::Suggestion;
use crate::lifecycle::WritePolicy;
use crate::model::Filter;
use crate::model::Handle;
use crate::model::Kind;
use crate::model::Memory;
use crate::model::MetaValue;
use crate::model::NewMemory;
use crate::model::Stem;
use crate::model::Timestamp;
use crate::model::Visibility;
use crate::model::is_global_namespace;
use crate::model::misfit;
use crate::model::normalized_namespace;

/// A memory that is safely on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub stem: Stem,
    pub became: WriteOutcome,
    /// The memories that are now marked as superseded by it.
    pub superseded: Vec<Stem>,
    /// Those that are nearly the same; it is linked with them.
    pub near: Vec<Suggestion>,
    /// Those that it is linked with because they share its topics.
    pub related: Vec<Stem>,
    /// One that has the very same text, and stays beside it.
    pub same_text: Option<Stem>,
    /// Those that it may contradict.
    pub contradicted: Vec<Contradicted>,
    /// The fields that one which was there got from it; none for one that was added.
    pub changed: Vec<&'static str>,
    /// Whether one that was there lives longer than what was to be stored, and goes on so.
    pub lives_on: bool,
    /// The credentials in it.
    pub screened: Screened,
}

/// How a memory came to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It was written.
    Added,
    /// It had been written before, by a call with the same idempotency key.
    Repeated,
    /// It was there and says the very same; what was stated beside the text is in `changed`.
    Known,
    /// It was there, and has this text now.
    Updated {
        /// What it said before, in the archive; `None` if it said the same.
        earlier: Option<Stem>,
    },
}

/// A title that nobody else gives to a memory meanwhile.
pub struct TitleLock {
    _lock: Lock,
}

/// What became of a memory that was to be stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    Written(Box<Remembered>),
    /// Nothing was written: one of these may be meant.
    Suggested(Vec<Suggestion>),
}

impl Stored {
    fn written(remembered: Remembered) -> Stored {
        Stored::Written(Box::new(remembered))
    }
}

impl Remembered {
    pub(super) fn of(stem: Stem, became: WriteOutcome) -> Remembered {
        Remembered {
            stem,
            became,
            superseded: Vec::new(),
            near: Vec::new(),
            related: Vec::new(),
            same_text: None,
            contradicted: Vec::new(),
            changed: Vec::new(),
            lives_on: false,
            screened: Screened::default(),
        }
    }

    /// Whether it had been written before, by a call with the same idempotency key.
    pub fn existed(&self) -> bool {
        self.became == WriteOutcome::Repeated
    }
}

/// A text as texts are compared for being the same.
fn words_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Puts a file in place: its name and bytes.
pub(super) type Add<'a> = dyn Fn(&str, &[u8]) -> Result<(), FilesError> + 'a;

/// New names drawn before giving up; a second one is needed once in four billion times.
const MAX_DRAWS: usize = 16;

impl Engine {
    /// Writes a memory; when this returns it survives the end of the process and of the power.
    ///
    /// With an idempotency `key`, a second call with the same key and user writes nothing and
    /// returns the first one's memory. Memories named in `supersedes` are marked.
    ///
    /// # Errors
    ///
    /// Fails if the memory breaks the format's limits, if a superseded memory does not exist, or
    /// if any step of writing fails; then nothing was written.
    pub fn remember(
        &self,
        memory: NewMemory,
        key: Option<&str>,
    ) -> Result<Remembered, EngineError> {
        match self.remember_as(memory, key, &WritePolicy::plain())? {
            Stored::Written(remembered) => Ok(*remembered),
            Stored::Suggested(_) => unreachable!("suggestions were not asked for"),
        }
    }

    /// As [`Engine::remember`], and does what `policy` says about memories that say the same, have
    /// to do with it, or speak against it. A memory that supersedes another one is always stored,
    /// and none is kept from being stored because it may contradict another one.
    ///
    /// # Errors
    ///
    /// As for [`Engine::remember`], and if the store cannot be searched where the policy needs it.
    pub fn remember_as(
        &self,
        mut memory: NewMemory,
        key: Option<&str>,
        policy: &WritePolicy,
    ) -> Result<Stored, EngineError> {
        self.check_writable()?;
        self.check_new(&mut memory)?;
        let superseded: Vec<Stem> = memory
            .supersedes
            .iter()
            .map(|id| self.resolve(id).map(|(stem, _)| stem))
            .collect::<Result<_, _>>()?;
        memory.supersedes = superseded
            .iter()
            .map(|stem| stem.as_str().to_owned())
            .collect();
        let _same_key = match key {
            None => None,
            Some(key) => {
                memory
                    .metadata
                    .push((KEY.to_owned(), MetaValue::Text(key.to_owned())));
                let lock = self.lock_shard("key", key, "the idempotency key")?;
                if let Some(stem) = self.written_with(key, &memory.user)? {
                    return Ok(Stored::written(Remembered::of(
                        stem,
                        WriteOutcome::Repeated,
                    )));
                }
                Some(lock)
            }
        };
        // Two at once with one name must not each be the first.
        let names = names(&memory, policy);
        let _same_name = match names.is_empty() {
            true => None,
            false => {
                let name: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
                let lock = self.lock_shard("name", &name.join("\0"), "the name")?;
                if let Some(stem) = self.called_by(&names, memory.namespace.as_deref())? {
                    return Ok(Stored::written(self.renew(&stem, memory, policy)?));
                }
                Some(lock)
            }
        };
        // Nor two with one title.
        let _same_title = match (&memory.title, policy.duplicates) {
            (Some(title), DuplicatePolicy::SameTitle) => Some(self.hold_title(title)?),
            _ => None,
        };
        // Nor two with one text.
        let compares = [DuplicatePolicy::Similar, DuplicatePolicy::Suggest];
        let _same_text = match compares.contains(&policy.duplicates) {
            true => Some(self.lock_shard("text", &words_of(&memory.content), "the text")?),
            false => None,
        };
        let near = match self.decide_on(&memory, policy)? {
            Decision::Add { near } => near,
            Decision::Suggest(suggestions) => return Ok(Stored::Suggested(suggestions)),
            Decision::Known(stem) => match self.enrich(&stem, &memory)? {
                Some(known) => return Ok(Stored::written(known)),
                None => Vec::new(),
            },
            Decision::Update(stem) => {
                return Ok(Stored::written(self.renew(&stem, memory, policy)?));
            }
        };
        let near_stems: Vec<Stem> = near.iter().map(|one| one.stem.clone()).collect();
        let related = self.relate(&mut memory, &near_stems, policy)?;
        let (stem, screened) = self.write_new(&memory, "remember")?;
        for old in &superseded {
            // The new memory says what it supersedes; the mark on the old one is for readers.
            if let Err(error) = self.update_as("supersede", old.as_str(), &superseded_by(&stem)) {
                tracing::warn!("cannot mark {old} as superseded by {stem}: {error}");
            }
        }
        let written = Memory {
            stem: stem.clone(),
            ..self.as_memory(&memory)
        };
        let noticed = self.notice(&self.new_name(&stem), &written, policy);
        Ok(Stored::written(Remembered {
            superseded,
            near,
            same_text: noticed.same_text,
            contradicted: noticed.contradicted,
            related,
            screened,
            ..Remembered::of(stem, WriteOutcome::Added)
        }))
    }

    /// Checks what a memory states, and settles its namespace.
    pub(super) fn check_new(&self, memory: &mut NewMemory) -> Result<(), EngineError> {
        check_details(memory.kind, &memory.metadata)?;
        memory.namespace = match memory.namespace.as_deref() {
            None => self.namespace.clone(),
            Some(text) => Some(normalized_namespace(text).into_owned()),
        };
        // A memory of no project states none.
        memory.namespace = (memory.namespace.take()).filter(|text| !is_global_namespace(text));
        Ok(())
    }

    /// As [`Engine::hold_title`], for all of `titles`.
    pub(super) fn hold_titles<'a>(
        &self,
        titles: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Lock>, EngineError> {
        // In one order, so that no two wait for each other.
        let titles = titles.map(|title| title.trim().to_lowercase());
        let by_shard: BTreeMap<u128, String> =
            titles.map(|title| (shard_of(&title), title)).collect();
        let titles = by_shard.values();
        titles
            .map(|title| self.lock_shard("title", title, "the title"))
            .collect()
    }

    /// Keeps others from giving `title` to a memory, as [`DuplicatePolicy::SameTitle`] does, until
    /// what is returned is dropped: for whoever looks first whether it is free.
    ///
    /// # Errors
    ///
    /// Fails if somebody else holds it for long.
    pub fn hold_title(&self, title: &str) -> Result<TitleLock, EngineError> {
        let title = title.trim().to_lowercase();
        Ok(TitleLock {
            _lock: self.lock_shard("title", &title, "the title")?,
        })
    }

    /// Keeps others out who are about something of the same `name`.
    fn lock_shard(&self, kind: &str, name: &str, what: &'static str) -> Result<Lock, EngineError> {
        let shard = shard_of(name);
        let locks = self.state().join("locks");
        Ok(Lock::take(
            &locks.join(format!("{kind}-{shard:x}.lock")),
            what,
        )?)
    }

    /// Draws a name and writes; draws again if somebody has it.
    pub(super) fn write_new(
        &self,
        memory: &NewMemory,
        tool: &str,
    ) -> Result<(Stem, Screened), EngineError> {
        let add = |name: &str, bytes: &[u8]| self.store.add(Place::Files, name, bytes);
        self.write_new_by(memory, tool, &add)
    }

    /// As [`Engine::write_new`], where `add` puts the file in place.
    pub(super) fn write_new_by(
        &self,
        memory: &NewMemory,
        tool: &str,
        add: &Add<'_>,
    ) -> Result<(Stem, Screened), EngineError> {
        self.store.create()?;
        let timestamp = self.time_of(memory);
        let mut wanted = memory.handle;
        for _ in 0..MAX_DRAWS {
            let stem = match wanted.take() {
                Some(handle) => Stem::new(timestamp.utc(), handle),
                None => Stem::new(timestamp.utc(), self.draw_handle()),
            };
            let (name, bytes, screened) = self.rendered(memory, &stem, &timestamp)?;
            match add(&name, &bytes) {
                Ok(()) => {
                    self.changed_with(tool, &name);
                    return Ok((stem, screened));
                }
                // Taken by another memory, or the temporary file was swept away: once more.
                Err(FilesError::Taken { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Invalid(format!(
            "no free name was found in {MAX_DRAWS} draws"
        )))
    }

    /// The time that a new memory states, or this moment.
    pub(super) fn time_of(&self, memory: &NewMemory) -> Timestamp {
        let now = || Timestamp::from_utc(self.clock.now());
        memory.timestamp.clone().unwrap_or_else(now)
    }

    /// The file of a new memory that is called by `stem`: its name and bytes, and the credentials in
    /// them.
    pub(super) fn rendered(
        &self,
        memory: &NewMemory,
        stem: &Stem,
        timestamp: &Timestamp,
    ) -> Result<(String, Vec<u8>, Screened), EngineError> {
        let text = format::render(memory, stem, timestamp)?;
        let name = self.new_name(stem);
        let (bytes, screened) = self.screen(&name, None, text.into_bytes())?;
        Ok((name, bytes, screened))
    }

    /// A handle that no memory has, as far as this process knows. A doubtful look is no reason to
    /// fail: names are unique by their time, too.
    pub(super) fn draw_handle(&self) -> Handle {
        let known = self.latest();
        (0..MAX_DRAWS)
            .map(|_| Handle::draw())
            .find(|handle| match &known {
                Some(snapshot) => snapshot.handle_count(handle.as_str()) == 0,
                None => !self.store.has_handle(handle.as_str()),
            })
            .unwrap_or_else(Handle::draw)
    }

    fn written_with(&self, key: &str, user: &str) -> Result<Option<Stem>, EngineError> {
        let filter = Filter {
            equals: vec![
                (format!("metadata.{KEY}"), key.to_owned()),
                ("user".to_owned(), user.to_owned()),
            ],
            visibility: Visibility::Everything,
            ..Filter::default()
        };
        let found = self.mending(|| self.names_of(self.snapshot()?.as_ref(), &filter))?;
        // The index folds case and cuts long values; what is written decides.
        let is_it = |name: &str| {
            let version = self.store.reader(Place::Files).read(name, u64::MAX);
            version.is_ok_and(|version| {
                let memory = parse(&version.entry, &version.bytes);
                let value = MetaValue::Text(key.to_owned());
                let holds = |known: &MetaValue| match known {
                    MetaValue::List(keys) => keys.contains(&value),
                    one => *one == value,
                };
                memory.user == user && memory.metadata.iter().any(|(k, v)| k == KEY && holds(v))
            })
        };
        let mut names = found.into_iter();
        Ok(names.find(|name| is_it(name)).map(|name| stem_of(&name)))
    }
}

/// Which of the locks of a kind is a name's.
fn shard_of(name: &str) -> u128 {
    crate::files::digest(name.as_bytes()) % 16
}

/// What `memory` is called by, if the policy has a name for it and it states all of that.
fn names<'a>(memory: &'a NewMemory, policy: &'a WritePolicy) -> Vec<(&'a str, &'a str)> {
    let text = |key: &'a String| {
        let mut metadata = memory.metadata.iter();
        metadata.find_map(|(known, value)| match value {
            MetaValue::Text(text) if known == key => Some((key.as_str(), text.as_str())),
            _ => None,
        })
    };
    let names = policy.named_by.iter().map(text);
    names.collect::<Option<_>>().unwrap_or_default()
}

/// Whether the metadata is what memories of its kind hold.
pub(super) fn check_details(
    kind: Option<Kind>,
    metadata: &[(String, MetaValue)],
) -> Result<(), EngineError> {
    let misfit = kind.and_then(|kind| Some((kind, misfit(kind, metadata)?)));
    match misfit {
        None => Ok(()),
        Some((kind, (key, wanted))) => Err(EngineError::Invalid(format!(
            "`metadata.{key}` of a memory of the kind {kind} must be {wanted}"
        ))),
    }
}
