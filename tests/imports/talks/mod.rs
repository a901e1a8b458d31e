//! `mine`: conversations of every format become memories.

mod damage;
mod formats;
mod kept;
mod sources;
