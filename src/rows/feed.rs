//! Feed of the changes of a workspace, from the table of changes.
//!
//! Promises: [`ChangeFeed::take`] tells every change that was committed before it, since it asks the table. In the call of
//! a client the table is not asked again for what must not be newer than what was told, unless a notification came; nor
//! if the number of the last change, which is read for all workspaces at once, is the one that was told. A
//! notification only wakes. A replica is asked only if it has every change that this process wrote or was told of,
//! and no notification came since. While the primary is away, nothing is told but what a replica knows, and the call
//! is noted as one that is answered as of an earlier time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::calls;
use super::database::{Database, Origin, Pace, Value, Wanted};
use super::heads::Head;
use super::known::Known;
use super::notices::Signal;
use crate::files::{ChangeFeed, Changed};

/// Maximum number of changes that are told by name.
const MAX_NAMES: i64 = 4_096;

/// Changes after a number, with the numbers of the last one, of the last line of the journal, and of the last
/// change when texts were erased.
const CHANGES: &str = "SELECT w.head, c.place, c.name, \
     coalesce((SELECT head FROM journal_head WHERE workspace = $1), 0), w.erased FROM workspace w LEFT JOIN LATERAL ( \
     SELECT place, name FROM change WHERE workspace = $1 AND seq > $2 ORDER BY seq LIMIT $3 \
     ) c ON true WHERE w.name = $1";

/// Feed of the live memories of a workspace.
pub(super) struct Feed {
    database: Database,
    workspace: Arc<str>,
    known: Arc<Known>,
    signal: Arc<Signal>,
    /// Number of the last change that was told; `None` before the first.
    told: Mutex<Option<i64>>,
}

impl Feed {
    /// Begins to follow the changes of `workspace`; `wake` is called at each one.
    pub(super) fn new(
        database: &Database,
        workspace: &Arc<str>,
        known: &Arc<Known>,
        wake: Box<dyn Fn() + Send + Sync>,
    ) -> Feed {
        let confirmed = Arc::clone(known);
        let confirm = move |moment| {
            // Nothing is known after a failure, until the table was asked.
            if confirmed.head().is_some() {
                confirmed.confirm(moment);
            }
        };
        let signal = Arc::new(Signal::following(wake, Box::new(confirm)));
        database.subscribe(workspace, &signal);
        known.follow();
        Feed {
            database: database.clone(),
            workspace: Arc::clone(workspace),
            known: Arc::clone(known),
            signal,
            told: Mutex::default(),
        }
    }
}

impl Feed {
    /// Returns whether the present call need not know of later changes than those that were told.
    fn is_new_enough(&self) -> bool {
        let is_told = |moment| self.known.is_told_until(moment);
        self.database.is_listening() && calls::as_of().is_some_and(is_told)
    }

    /// Returns whether `told` is known to be the last change; `None` if the present call asks the table in any case, as one
    /// that writes does, whose answer must be of this moment. The numbers of all workspaces are asked for at once.
    fn is_newest(&self, told: i64) -> Option<bool> {
        let moment = calls::as_of().filter(|_| calls::may_be_late())?;
        let knows_all = self.known.head() == Some(told) && self.known.floor() <= told;
        if !knows_all || !self.database.is_listening() {
            return Some(false);
        }
        let head = self.database.head(&self.workspace, moment);
        let Some((head, moment)) = head.filter(|(head, _)| head.change == told) else {
            return Some(false);
        };
        self.known.advance_journal(head.journal);
        self.known.confirm(moment);
        Some(true)
    }

    /// Notes that this answer is as of an earlier time, and that the next one asks the primary.
    fn note_as_known(&self) {
        calls::note_as_known(self.known.head());
        self.signal.put_back();
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.known.unfollow();
    }
}

impl ChangeFeed for Feed {
    fn take(&self) -> Changed {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        calls::begin_to_ask();
        // Before the table is asked: a later change sets it again.
        let is_given = self.signal.take();
        let mut is_behind = is_given || told.is_none();
        if !is_given && let Some(number) = *told {
            if self.is_new_enough() {
                return Changed::default();
            }
            match self.is_newest(number) {
                Some(true) => return Changed::default(),
                Some(false) => is_behind = true,
                None => {}
            }
        }
        let moment = Instant::now();
        let wanted = Wanted {
            // Of a change that was told, a replica may know nothing yet.
            prefers_primary: is_behind || !self.database.is_listening(),
            pace: Pace::Quick,
            ..self.known.wanted()
        };
        let values = vec![
            Value::from(&*self.workspace),
            Value::Number(told.unwrap_or(i64::MAX)),
            Value::Number(MAX_NAMES),
        ];
        let everything = Changed {
            everything: true,
            events: 1,
            ..Changed::default()
        };
        let (rows, origin) = match self.database.read(&self.workspace, CHANGES, values, wanted) {
            Ok((rows, origin)) if !rows.is_empty() => (rows, origin),
            // What was told holds until the database answers again, and tells what came after it.
            Err(error) if error.is_away_or_busy() && told.is_some() => {
                self.note_as_known();
                return Changed::default();
            }
            // Whoever looks at everything then finds out why.
            _ => {
                self.known.lose();
                return everything;
            }
        };
        let head: i64 = rows[0].get(0);
        // Of a replica that is behind, a lower number says nothing.
        let has_lost = origin == Origin::Newest && head < told.unwrap_or(0).max(wanted.floor);
        if has_lost {
            // Those that are gone may have been told, and be there again with other texts.
            *told = None;
            self.known.begin_anew();
        }
        let since = told.replace(head);
        let journal = rows[0].get(3);
        self.known.advance_journal(journal);
        self.signal.know(Head {
            change: head,
            journal,
            erased: rows[0].get(4),
        });
        let changes: Vec<(&str, &str)> = rows
            .iter()
            .filter_map(|row| Some((row.get::<_, Option<&str>>(1)?, row.get(2))))
            .collect();
        // Numbers have no gaps: others were cut off, or removed.
        let are_all = since.is_some_and(|since| head - since == changes.len() as i64);
        let files = changes.iter().filter(|(place, _)| *place == "files");
        let names = files.map(|(_, name)| *name);
        self.known.advance(head, are_all.then(|| names.clone()));
        match origin {
            Origin::Newest if !has_lost => self.known.confirm(moment),
            Origin::Earlier => self.note_as_known(),
            Origin::Newest | Origin::Known => {}
        }
        if !are_all {
            return everything;
        }
        Changed {
            names: names.map(str::to_owned).collect(),
            everything: false,
            events: changes.len() as u64,
        }
    }

    fn note_indexed(&self, is_indexed: bool) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if is_indexed {
            self.known.settle();
        } else if let Some(indexed) = self.known.retreat() {
            // An answer must not claim what it does not hold.
            *told = (indexed > 0).then_some(indexed);
            self.signal.doubt();
        }
    }

    fn wait(&self, patience: Duration) {
        self.signal.wait(patience);
    }

    fn has_changes(&self) -> bool {
        self.signal.is_given()
    }

    fn include(&self, _folder: &str) {}

    fn lost(&self) -> Option<String> {
        None
    }

    fn tells_at_once(&self) -> bool {
        true
    }
}
