//! The dialects: adapters for the clients of other systems. Each is a folder with an `ENTRY` that
//! holds all that hob knows about it: settings, routes, the opt-in listener.
//!
//! - `agentloop`, `archy`, `looprunner`, `pryx`: protocols of their own
//! - `vargos`: hob's frames without a token, translated where its methods differ
//! - `request_body`: the bodies of requests that change something
//!
//! Invariants: a dialect only translates, over the public interface of `hob-gateway` and the bus. No
//! other crate names a foreign product.

mod agentloop;
mod archy;
mod looprunner;
mod pryx;
mod request_body;
mod vargos;

pub use archy::analysis::analyze as analyze_output;

use hob_gateway::dialect::DialectEntry;

/// All dialects, in the order of their settings and listeners.
pub fn all() -> &'static [DialectEntry] {
    &[
        vargos::ENTRY,
        agentloop::ENTRY,
        agentloop::speech::ENTRY,
        looprunner::ENTRY,
        archy::ENTRY,
        pryx::ENTRY,
    ]
}

/// The surfaces that have an opt-in listener. A service file names them in `listen`.
pub fn opt_in_surfaces() -> Vec<&'static str> {
    let opt_in = all().iter().filter(|entry| entry.opt_in.is_some());
    opt_in.map(|entry| entry.surface).collect()
}
