//! The dialects: adapters for the clients of other systems. Each is a folder with an `ENTRY` that
//! holds all that hob knows about it: settings, routes, the opt-in listener.
//!
//! - `agentloop`, `archy`, `looprunner`, `pryx`: protocols of their own
//! - `vargos`: hob's frames without a token, translated where its methods differ
//! - `request_body`: the bodies of requests that change something
//! - [`importer`]: what each of the systems stored, read for `hob import`: [`import_plan`] is the
//!   result, [`import_builder`] collects it, `import_names` names what is in it, [`import_folder`] reads
//!   files, `import_formats` parses them, `import_notes` says what hob has no place for
//!
//! Invariants: a dialect only translates, over the public interface of `hob-gateway` and the bus. No
//! other crate names a foreign product.

mod agentloop;
mod archy;
pub mod import_builder;
pub mod import_folder;
mod import_formats;
mod import_names;
mod import_notes;
pub mod import_plan;
pub mod importer;
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
