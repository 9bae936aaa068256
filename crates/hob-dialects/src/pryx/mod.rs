//! Pryx: only its launcher so far, which starts hob in place of its own daemon and reads the address
//! from what hob prints. `import` reads what Pryx stored.

mod import;

pub(crate) use import::IMPORTER;

use hob_gateway::dialect::{DialectEntry, LauncherVariables};

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    launcher: Some(LauncherVariables {
        listen: "PRYX_LISTEN_ADDR",
        announced: "PRYX_CORE_LISTEN_ADDR",
    }),
    ..DialectEntry::new("pryx", "Pryx")
};
