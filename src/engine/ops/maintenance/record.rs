//! The record of a plan: what each step did, so that it can be taken back.
//!
//! It lies with what is this machine's, `.memdir/plans/plan-<8 hex>.json`, and is written before the
//! first step. It holds whatever the store would not hold after the plan is taken back. A record
//! that came along with a copy of the store, or that somebody put there, is none: each says in which
//! folder it was written, by what nobody else can know, and names memories only.

use std::io;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::engine::texts::stem_of;
use crate::format::is_memory_name;
use crate::model::{Handle, Memory};
use crate::{files, format};

/// What became of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanState {
    /// Not all of it was done: it is taken back by whoever comes next.
    Begun,
    Done,
    #[serde(rename = "taken back")]
    TakenBack,
}

/// A plan that was performed, or begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    version: u32,
    /// `plan-` and 8 hexadecimal digits.
    pub id: String,
    pub at: DateTime<Utc>,
    /// The word of its operation.
    pub operation: String,
    pub state: PlanState,
    /// The folder of records that it was written in, told from any copy of it.
    place: String,
    pub(in crate::engine) steps: Vec<Step>,
}

/// What was done to one file, by its path below the folder of memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "lowercase")]
pub(in crate::engine) enum Step {
    Create {
        name: String,
        text: String,
    },
    Edit {
        name: String,
        before: String,
        after: String,
    },
    /// By the hash of its bytes, in hexadecimal digits.
    Archive {
        name: String,
        hash: String,
    },
}

impl Step {
    pub fn name(&self) -> &str {
        match self {
            Step::Create { name, .. } | Step::Edit { name, .. } | Step::Archive { name, .. } => {
                name
            }
        }
    }
}

/// What the ids of plans begin with.
const PREFIX: &str = "plan-";

const VERSION: u32 = 1;

impl Recorded {
    pub(in crate::engine) fn new(operation: &str, at: DateTime<Utc>, steps: Vec<Step>) -> Recorded {
        Recorded {
            version: VERSION,
            id: format!("{PREFIX}{}", Handle::draw().as_str()),
            at,
            operation: operation.to_owned(),
            state: PlanState::Begun,
            place: String::new(),
            steps,
        }
    }

    /// The memories that it had made, if it was taken back.
    pub(in crate::engine) fn taken_back(&self) -> Vec<Memory> {
        if self.state != PlanState::TakenBack {
            return Vec::new();
        }
        let made = self.steps.iter().filter_map(|step| match step {
            Step::Create { name, text } => {
                Some(format::parse(&stem_of(name), text.as_bytes(), self.at))
            }
            Step::Edit { .. } | Step::Archive { .. } => None,
        });
        made.collect()
    }

    /// How many memories it made, changed, and moved to the archive.
    pub fn counts(&self) -> [usize; 3] {
        let count = |is_it: fn(&&Step) -> bool| self.steps.iter().filter(is_it).count();
        [
            count(|step| matches!(step, Step::Create { .. })),
            count(|step| matches!(step, Step::Edit { .. })),
            count(|step| matches!(step, Step::Archive { .. })),
        ]
    }
}

/// The folder of records.
pub(in crate::engine) struct Records(pub PathBuf);

impl Records {
    fn path(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }

    /// Writes a record; it is on disk when this returns.
    pub fn write(&self, record: &mut Recorded) -> io::Result<()> {
        files::create_private_folder(&self.0)?;
        record.place = files::place_of(&self.0)?;
        let text = serde_json::to_vec(record).map_err(io::Error::other)?;
        files::write_synced(&self.path(&record.id), &text)
    }

    pub fn remove(&self, id: &str) -> io::Result<()> {
        files::remove_derived(&self.path(id))
    }

    /// All that can be read, newest first.
    pub fn all(&self) -> io::Result<Vec<Recorded>> {
        let names = match files::names_in(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut records = Vec::new();
        for name in names {
            let id = name.strip_suffix(".json");
            if let Some(id) = id.filter(|id| is_plan(id)) {
                records.extend(self.read(id)?);
            }
        }
        records.sort_by(|a: &Recorded, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        Ok(records)
    }

    /// The record of a plan; `None` if there is none, or one of a later version.
    pub fn read(&self, id: &str) -> io::Result<Option<Recorded>> {
        if !is_plan(id) {
            return Ok(None);
        }
        let text = match files::read_derived(&self.path(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let Ok(record) = serde_json::from_slice::<Recorded>(&text) else {
            return Ok(None);
        };
        let is_own = record.version == VERSION
            && record.id == id
            && record.place == files::place_of(&self.0)?
            && record.steps.iter().all(|step| is_plain(step.name()));
        Ok(is_own.then_some(record))
    }
}

/// Whether a name is that of a memory below the folder of memories.
fn is_plain(name: &str) -> bool {
    let mut parts = name.split('/');
    let file = parts.next_back().unwrap_or_default();
    let is_folder = |part: &str| !part.is_empty() && !part.starts_with('.');
    is_memory_name(file) && !name.contains('\\') && parts.all(is_folder)
}

/// Whether a text is the id of a plan.
pub fn is_plan(text: &str) -> bool {
    let handle = text.strip_prefix(PREFIX);
    handle.is_some_and(|handle| Handle::parse(handle).is_some())
}
