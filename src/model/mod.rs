//! The words of the domain as plain values.
//!
//! Promises: no input or output, no clock (but for drawing ids), and nothing that knows how a
//! value looks on disk or on the wire: none of these types can be serialized. The file format
//! and each dialect have their own structs and convert.

mod change;
mod details;
mod id;
mod kind;
mod layout;
mod memory;
mod mentions;
mod namespace;
mod other_names;
mod private;
mod problem;
mod query;
mod stamp;
mod talk;
mod timestamp;
mod usage;

pub use change::{Change, Patch};
pub use details::misfit;
pub use id::{Handle, Stem};
pub(crate) use kind::vocabulary;
pub use kind::{Kind, Scope, Tier, UnknownWord};
pub use layout::{IN_PLACE, Layout};
pub use memory::{ALIASES, Link, Memory, MetaValue, NewMemory, PINNED, UPDATED};
pub use mentions::{
    MENTIONED, code_length, fence_of, is_bare, mentioned, plain_id, stripped_id, unwrapped_id,
};
pub use namespace::{GLOBAL, is_global_namespace, is_same_namespace, normalized_namespace};
pub use other_names::OtherNames;
pub use private::PrivateRules;
pub use problem::Problem;
pub use query::{Budget, Filter, Position, Talks, TopicMatch, Visibility, estimated_tokens};
pub use stamp::{MAX_INDEXED_BYTES, Stamp};
pub use talk::{NEW_NOTES, TALK, TALKS, is_talk_name, speaker, talk_name};
pub use timestamp::{POSSIBLE_TIMES, Timestamp, in_zone, is_possible_time, start_of_day};
pub use usage::Usage;
