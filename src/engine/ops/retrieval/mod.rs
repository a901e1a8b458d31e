//! From a question to memories: search, recall, grep, what is alike or related.

pub(in crate::engine) mod grep;
pub(in crate::engine) mod recall;
pub(in crate::engine) mod related;
pub(in crate::engine) mod search;
pub(in crate::engine) mod similar;
pub(in crate::engine) mod think;
pub(in crate::engine) mod time_filter;
