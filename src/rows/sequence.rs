//! Numbers of changes in requests and replies: [`Sequence`] over rows.
//!
//! Each workspace has a floor: the number of the last change that this process wrote, followed, or was asked for.
//! Whatever is read from a replica holds at least that change; otherwise the primary is asked.

use std::time::Duration;

use super::calls;
use super::database::Pace;
use super::error::RowsError;
use super::workspace::Rows;
use crate::files::{BegunCall, EndedCall, Sequence, SequenceError};

/// Pause between two questions to replicas, and their number: 50 ms in all.
const PAUSE: Duration = Duration::from_millis(10);
const QUESTIONS: u32 = 5;

/// Maximum age of what a read is answered from, as to changes by other servers: half of what is promised.
const LATE: Duration = Duration::from_millis(50);

const HEAD: &str = "SELECT head FROM workspace WHERE name = $1";

impl Sequence for Rows {
    fn begin(&self, least: Option<u64>, writes: bool) -> Result<BegunCall, SequenceError> {
        // What a write begins with must be the newest text.
        calls::begin(match writes {
            true => Duration::ZERO,
            false => LATE,
        });
        let away = |_| SequenceError::Away { writes };
        if writes && self.database.is_away() {
            return Err(SequenceError::Away { writes });
        }
        if writes && self.database.has_replicas() {
            let head = self.head_of_primary().map_err(away)?;
            self.known.raise(head);
        }
        let asked = least.map_or(0, |least| i64::try_from(least).unwrap_or(i64::MAX));
        if asked > self.known.floor() && !self.replica_has(asked) {
            let last = self.head_of_primary().map_err(away)?;
            if last < asked {
                return Err(SequenceError::Unknown {
                    asked: asked.unsigned_abs(),
                    last: last.unsigned_abs(),
                });
            }
        }
        self.known.raise(asked);
        Ok(BegunCall {
            least: asked.unsigned_abs(),
            known: self.known.head().unwrap_or(0).unsigned_abs(),
            writes,
        })
    }

    fn end(&self, begun: BegunCall) -> EndedCall {
        let calls::Ended {
            is_as_known,
            known,
            lacks_something,
            may_have_written,
        } = calls::end();
        let told = self.known.head().unwrap_or(0).unsigned_abs();
        let held = known.map(i64::unsigned_abs);
        let number = match is_as_known {
            _ if begun.writes && (may_have_written || !is_as_known) => {
                self.known.floor().unsigned_abs()
            }
            false => begun.known.max(begun.least),
            true => held.unwrap_or(begun.known),
        };
        EndedCall {
            number: (number > 0).then_some(number),
            age: is_as_known.then(|| self.known.age().unwrap_or_else(|| self.database.age())),
            is_incomplete: lacks_something || (is_as_known && held.unwrap_or(told) < begun.least),
            may_have_written,
        }
    }

    fn answer_as_known(&self) {
        calls::answer_as_known(self.known.head());
    }
}

impl Rows {
    /// Returns the number of the last change at the primary.
    fn head_of_primary(&self) -> Result<i64, RowsError> {
        let workspace = self.workspace.clone();
        let rows = self
            .database
            .read_primary(&workspace, HEAD, self.values([]), Pace::Quick);
        match rows?.first() {
            Some(row) => Ok(row.get(0)),
            None => Err(RowsError::NoWorkspace(workspace.to_string())),
        }
    }

    /// Returns whether a replica has the change `asked`, at once or within 50 ms.
    fn replica_has(&self, asked: i64) -> bool {
        let workspace = self.workspace.clone();
        self.database.has_replicas()
            && self
                .database
                .run(|database| async move {
                    for _ in 0..QUESTIONS {
                        if database.replica_has(&workspace, asked).await {
                            return Ok(true);
                        }
                        // A replica tells nobody when it has applied a change.
                        tokio::time::sleep(PAUSE).await;
                    }
                    Ok(false)
                })
                .unwrap_or(false)
    }
}
