//! Checks whether another program uses the configured port.

use super::{Finding, FindingLevel};
use crate::context::CommandContext;
use crate::settings;
use hob_kit::home_lock;
use hob_kit::settings::{SettingSource, Settings};
use std::io::ErrorKind;
use std::net::TcpListener;

/// The setting of the listen address.
const LISTEN: &str = "listen.address";

/// Checks whether another program has the port that the daemon would use.
pub(super) fn configured_port(context: &CommandContext) -> Option<Finding> {
    let home = &context.host.home;
    // The holder of the lock may be a starting daemon that has the port.
    if home_lock::is_held(home) {
        return None;
    }
    let settings = Settings::load_home(&settings::catalog(), home, &context.host.env).ok()?;
    let entry = settings.entry(LISTEN)?;
    let is_chosen = entry.origin != SettingSource::Default;
    let address = settings.text(LISTEN);
    // Only binding the port shows for sure that it is free; it is released at once.
    let taken = TcpListener::bind(address).err()?;
    if taken.kind() != ErrorKind::AddrInUse {
        return None;
    }
    let message = format!("Another program has {address}, where hob listens");
    Some(if is_chosen {
        let fix = format!("Free the port, or change {LISTEN}; until then hob does not start.");
        Finding::bad(FindingLevel::Broken, "port", message, fix)
    } else {
        let fix = format!(
            "hob will use another port. A client configured with {address} would send its token to that program: free the port, or give the client the address that `hob up` prints."
        );
        Finding::bad(FindingLevel::Warning, "port", message, fix)
    })
}
