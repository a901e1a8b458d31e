//! Retrieval of memories: search, recall, grep, similar and related ones.

pub(in crate::engine) mod grep;
pub(in crate::engine) mod passages;
pub(in crate::engine) mod recall;
pub(in crate::engine) mod related;
pub(in crate::engine) mod search;
pub(in crate::engine) mod similar;
pub(in crate::engine) mod think;
pub(in crate::engine) mod time_filter;
