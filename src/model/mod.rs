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
mod problem;
mod query;
mod stamp;
mod timestamp;
mod usage;

pub use change::Change;
pub use change::Patch;
pub use details::misfit;
pub use id::Handle;
pub use id::Stem;
pub use kind::Kind;
pub use kind::Scope;
pub use kind::Tier;
pub use kind::UnknownWord;
pub(crate) use kind::vocabulary;
pub use layout::IN_PLACE;
pub use layout::Layout;
pub use memory::ALIASES;
pub use memory::Link;
pub use memory::Memory;
pub use memory::MetaValue;
pub use memory::NewMemory;
pub use memory::UPDATED;
pub use mentions::MENTIONED;
pub use mentions::code_length;
pub use mentions::fence_of;
pub use mentions::is_bare;
pub use mentions::mentioned;
pub use mentions::plain_id;
pub use mentions::stripped_id;
pub use mentions::unwrapped_id;
pub use namespace::GLOBAL;
pub use namespace::is_global_namespace;
pub use namespace::is_same_namespace;
pub use namespace::normalized_namespace;
pub use problem::Problem;
pub use query::Budget;
pub use query::Filter;
pub use query::Position;
pub use query::TopicMatch;
pub use query::Visibility;
pub use query::estimated_tokens;
pub use stamp::MAX_INDEXED_BYTES;
pub use stamp::Stamp;
pub use timestamp::POSSIBLE_TIMES;
pub use timestamp::Timestamp;
pub use timestamp::in_zone;
pub use timestamp::is_possible_time;
pub use timestamp::start_of_day;
pub use usage::Usage;
