//! A scripted model server that speaks the real HTTP of the real providers.
//!
//! A test gives [`Sim::start`] a script, a function from the request ([`SimRequest`]) to an [`Answer`];
//! everything else is as the provider does it: the paths, the headers, the event streams, the error
//! bodies, and the refusals of requests the provider would refuse. A [`Fault`] makes an answer fail
//! in one named way.
//!
//! | Module | What |
//! |---|---|
//! | `sim`, `route`, `server`, `answer_body`, `pacer` | the server, its paths, and the timing of an answer's bytes |
//! | `answer`, `fault`, `request` | the types a script uses |
//! | `chat`, `responses`, `anthropic`, `gemini` | one dialect each: its request checks and its answers |
//! | `model_hub` | a hub of model files to download: [`ModelHub`] |
//! | `draft`, `damage` | an answer with its ids and counts; corrupted frames |
//!
//! Invariants: an answer depends only on the request, ids included, so a killed run can resume against
//! it; nothing listens beyond 127.0.0.1; the server ends with its [`Sim`].

mod answer;
mod answer_body;
mod anthropic;
mod base64;
mod chat;
mod damage;
mod draft;
mod fault;
mod gemini;
mod model_hub;
mod pacer;
mod refusal;
mod request;
mod responses;
mod route;
mod rules;
mod server;
mod sim;

pub use answer::{Answer, AnswerEnding, Gate};
pub use fault::{Fault, GarbageKind, RetryAfter, UsageLie};
pub use model_hub::{HubSimFile, HubSimRequest, ModelHub, StorageFault};
pub use request::{Dialect, Flavour, SimMessage, SimRequest, SimToolCall, SimToolResult};
pub use sim::{Sim, SimParts};
