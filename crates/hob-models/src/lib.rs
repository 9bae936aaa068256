//! The models hob can ask: one folder per protocol, one row per provider.
//!
//! - [`Book`]: every configured provider and alias; a name leads to [`Candidate`]s
//! - [`Candidate::ask`]: one attempt at one model; retries and other models are the caller's
//! - [`Prompt`], [`Piece`], [`Reply`], [`ModelError`]: what is asked and answered
//! - [`KeyDoor`]: where keys come from
//! - [`Served`], [`ServiceDoor`]: models of local services, and the way to those
//! - [`price`]: what calls cost
//! - `openai_chat`, `openai_responses`, `anthropic`, `gemini`: the protocols, each a request
//!   builder and a stream decoder, both pure
//! - `opencode`: an agent of its own, asked in a session like a model
//! - `providers`: the providers, as data
//!
//! Invariants: an answer is given whole or not at all, and a call of which a part is missing never
//! becomes runnable; a key is in no error, no log and no `Debug`; everything that is read has a
//! bound.

mod anthropic;
mod assembly;
mod book;
mod candidate;
mod dialect;
mod error;
mod exchange;
mod gemini;
mod history;
mod keys;
mod openai_chat;
mod openai_responses;
mod opencode;
pub mod price;
mod profile;
mod prompt;
mod providers;
mod reasoning;
#[cfg(test)]
#[path = "recorded_tests.rs"]
mod recorded;
mod refusal;
mod schema;
mod served;
mod settings;
mod table;
mod text_tools;
mod tokens;
mod tool_id;
mod usage;

pub use book::{Book, Listing, Sources};
pub use candidate::{CONTEXT_TOKENS_ASSUMED, Candidate, Facts};
pub use error::{BookError, ModelError};
pub use keys::{EnvKeys, KeyDoor};
pub use profile::Profile;
pub use prompt::{Piece, Prompt, PromptMessage, Reply, Stop, ToolWord};
pub use served::{NoServices, Reach, Reaching, Served, ServiceDoor};
pub use settings::{ALIASES, KEYS, KINDS, is_name};
