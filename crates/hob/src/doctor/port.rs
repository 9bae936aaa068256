//! The usual port: whether another program has it.

use super::{Finding, Level};
use crate::context::Context;
use crate::settings;
use hob_kit::lock;
use hob_kit::settings::{Origin, Settings};
use hob_wire::rooms::daemon::DaemonStatus;
use std::io::ErrorKind;
use std::net::TcpListener;

/// The setting that says where to listen.
const LISTEN: &str = "listen.address";

/// What a running daemon says of where it listens.
pub(super) fn notes(status: &DaemonStatus) -> Vec<Finding> {
    let notes = status.notes.iter();
    let findings = notes.map(|note| {
        // The first sentence says what is, the rest what to do.
        let (message, fix) = note.split_once(". ").unwrap_or((note, "hob restart"));
        Finding::bad(Level::Warning, "port", message, fix)
    });
    findings.collect()
}

/// Whether another program has the port that a daemon would take.
pub(super) fn usual(context: &Context) -> Option<Finding> {
    let home = &context.world.home;
    // Whoever holds the home may be a daemon on its way, which has the port.
    if lock::is_held(home) {
        return None;
    }
    let settings = Settings::of_home(&settings::catalog(), home, &context.world.env).ok()?;
    let entry = settings.entry(LISTEN)?;
    let is_chosen = entry.origin != Origin::Default;
    let address = settings.text(LISTEN);
    // Bound for an instant and let go again: nothing else tells for sure.
    let taken = TcpListener::bind(address).err()?;
    if taken.kind() != ErrorKind::AddrInUse {
        return None;
    }
    let message = format!("Another program has {address}, where hob listens");
    Some(if is_chosen {
        let fix = format!("Free the port, or change {LISTEN}; until then hob does not start.");
        Finding::bad(Level::Broken, "port", message, fix)
    } else {
        let fix = format!(
            "hob will take another port. A client that has {address} stored sends its token to that program: free the port, or give the client the address that hob up tells."
        );
        Finding::bad(Level::Warning, "port", message, fix)
    })
}
