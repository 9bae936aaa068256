//! Pryx: only its launcher so far, which starts hob in place of its own daemon and reads the address
//! from what hob prints.

use hob_gateway::dialect::{DialectEntry, LauncherVariables};

pub(crate) const ENTRY: DialectEntry = DialectEntry {
    launcher: Some(LauncherVariables {
        listen: "PRYX_LISTEN_ADDR",
        announced: "PRYX_CORE_LISTEN_ADDR",
    }),
    ..DialectEntry::new("pryx", "Pryx")
};
