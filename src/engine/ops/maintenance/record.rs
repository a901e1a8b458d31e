//! Record of a plan: its steps, so that it can be reverted.
//!
//! It is stored locally, in `.memdir/plans/plan-<8 hex>.json`, and written before the
//! first step. It holds all data that the store would lose if the plan were reverted. A record
//! that came with a copy of the store, or that somebody put there, is ignored: each holds an identity of
//! its folder that nobody else can guess, and names memories only.

use std::io;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::engine::texts::stem_of;
use crate::format::is_memory_name;
use crate::model::{Handle, Memory};
use crate::{files, format};

/// State of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanState {
    /// Not all steps were done: the next process reverts it.
    Begun,
    /// All steps were done.
    Done,
    /// All steps were reverted.
    #[serde(rename = "taken back")]
    TakenBack,
}

/// A plan that was performed, or begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    version: u32,
    /// Id: `plan-` and 8 hexadecimal digits.
    pub id: String,
    /// Time at which it was performed.
    pub at: DateTime<Utc>,
    /// Name of its operation.
    pub operation: String,
    /// State of the plan.
    pub state: PlanState,
    /// Identity of the folder of records, which differs in any copy of it.
    place: String,
    /// Steps, in order.
    pub(in crate::engine) steps: Vec<Step>,
}

/// A change of one file, by its path below the folder of memories.
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
    /// With the hash of its bytes, in hexadecimal digits.
    Archive {
        name: String,
        hash: String,
    },
}

impl Step {
    /// Returns the path of the file, below the folder of memories.
    pub fn name(&self) -> &str {
        match self {
            Step::Create { name, .. } | Step::Edit { name, .. } | Step::Archive { name, .. } => {
                name
            }
        }
    }
}

/// Prefix of the ids of plans.
const PREFIX: &str = "plan-";

const VERSION: u32 = 1;

impl Recorded {
    /// Returns a new record of a plan that is begun, with a random id.
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

    /// Returns the memories that it had created, if it was reverted.
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

    /// Returns the numbers of memories that it created, changed and archived.
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

    /// Writes a record; it is synced when this returns.
    pub fn write(&self, record: &mut Recorded) -> io::Result<()> {
        files::create_private_folder(&self.0)?;
        record.place = files::place_of(&self.0)?;
        let text = serde_json::to_vec(record).map_err(io::Error::other)?;
        files::write_synced(&self.path(&record.id), &text)
    }

    /// Removes the record of a plan.
    pub fn remove(&self, id: &str) -> io::Result<()> {
        files::remove_derived(&self.path(id))
    }

    /// Returns all readable records, newest first.
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

    /// Returns the record of a plan; `None` if there is none, or it is no valid record of this folder.
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

/// Whether a name is a path of a memory below the folder of memories.
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
