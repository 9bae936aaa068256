//! A model server that says what a script tells it, over the real HTTP of the real providers.
//!
//! A test gives [`Sim::start`] a brain, a function from the request ([`Asked`]) to an [`Answer`];
//! everything else is as at the provider: the paths, the headers, the event streams, the error
//! bodies, and the refusals of requests the provider would refuse. A [`Fault`] makes an answer go
//! wrong in one named way.
//!
//! | Module | What |
//! |---|---|
//! | `sim`, `route`, `server`, `feed`, `pacer` | the server's life, its paths, and how and when an answer's bytes leave |
//! | `answer`, `fault`, `asked` | the words a script uses |
//! | `chat`, `responses`, `anthropic`, `gemini` | one dialect each: what it refuses, what it says |
//! | `draft`, `damage` | an answer with its ids and counts settled; frames made wrong |
//!
//! Invariants: an answer depends on the request alone, ids included, so a run that was killed can
//! go on against it; nothing listens beyond 127.0.0.1; the server ends with its [`Sim`].

mod answer;
mod anthropic;
mod asked;
mod base64;
mod chat;
mod damage;
mod draft;
mod fault;
mod feed;
mod gemini;
mod pacer;
mod refusal;
mod responses;
mod route;
mod rules;
mod server;
mod sim;

pub use answer::{Answer, Ending, Gate};
pub use asked::{Asked, Called, Dialect, Flavour, Resulted, Said};
pub use fault::{Fault, Garbage, Lie, RetryAfter};
pub use sim::{Sim, SimParts};
