//! Speaks to other hosts over http: files that are checked, and questions in JSON.
//!
//! Only at the user's word: nothing here starts by itself. Promises: a file appears under its name
//! with the bytes that were expected, or not at all; what breaks off goes on where it stopped; every
//! wait has an end; certificates are verified; an `Authorization` never leaves the host it is meant
//! for; keys are in no error and no log line. Which files, and what is asked, is left to others, and
//! so are git's remotes, which [`crate::git`] speaks to.
//!
//! Proxies come from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case;
//! authorities besides those that browsers trust from `SSL_CERT_FILE`. This machine is always
//! spoken to directly.

mod address;
mod client;
mod download;
mod error;
mod limits;
mod part;
mod post;
mod proxy;
mod retry;

pub use address::Url;
pub use client::FetchClient;
pub use download::{DownloadRequest, Progress};
pub use error::{FetchError, Why};
pub use limits::RequestLimits;
pub use part::sha256_of;
pub use post::{ApiKey, Post};
