//! `mine`: conversations of every format become memories.

mod damage;
mod databases;
mod formats;
mod kept;
mod notes;
mod odd;
mod passages;
mod proposals;
mod sources;
mod suggestions;
