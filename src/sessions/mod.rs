//! Sessions of agents, as the user's own records: what each was shown, and when nothing is to be shown.
//!
//! They lie in `$XDG_STATE_HOME/memdir/sessions/`, a file of JSON lines for each session, and never in a
//! store: what an agent was shown is nobody else's business. Lines name memories and hold no text of them.
//! Promises: a line is added in one write; a file that cannot be read counts as empty; the records of the
//! newest 500 sessions are kept. Losing a record has a memory shown twice, nothing else.

mod pause;
mod record;

pub use pause::Pause;
pub use record::{LeftOutNote, SessionEvent, Sessions, known_to};
