//! Lets `memdir mcp` use a server of the same store that runs already, without a lost call.
//!
//! A server offers a Unix socket whose name is a fingerprint of all that decides about answers and rights.
//! `memdir mcp` with the same fingerprint connects, sends the facts of its own session in a first line, and
//! passes lines on; the server runs for the connection what `memdir mcp` would run itself. Promises: nobody
//! but processes of the same user is talked to, and no token is sent. A request is answered exactly once: the
//! relay keeps those that are unanswered, and when the server goes away it serves by itself and answers them.
//! The server tells the id of a new memory before it writes it, so a memory that it wrote without answering
//! is found again and not written twice. Other changes are made again, on memories as the first time left
//! them. It is there where Unix sockets are. A second socket answers single questions of hooks in the same way.
//!
//! It knows neither settings nor tools: the fingerprint, the session and what serves are given to it.

mod event;
mod greeting;
mod ledger;
mod offer;
mod place;
mod relayed;
mod takeover;

pub use greeting::Hello;
pub use offer::{AnswerQuestion, Offer, Service, offer};
pub use place::RelayPlace;
pub use relayed::{Relay, ask, connect};
pub use takeover::Takeover;
