//! Checks whether scheduled work would run after a reboot.

use super::{Finding, FindingLevel};
use crate::autostart::{AutostartFiles, Starter};
use hob_kit::host_environment::HostEnvironment;

/// Examines autostart. Without scheduled work nothing is missed while it is off.
pub(super) fn examine(host: &HostEnvironment, has_work: bool) -> Option<Finding> {
    let state = AutostartFiles::of(host)?.state();
    if let Some(program) = state.missing_program {
        return Some(Finding::bad(
            FindingLevel::Warning,
            "autostart",
            format!("its program {} is gone", program.display()),
            "hob autostart on",
        ));
    }
    let how = match state.starter {
        Some(Starter::Unit) if state.lingers => "the user unit starts hob at boot",
        Some(Starter::Unit) => "the user unit starts hob at your first login",
        Some(Starter::Entry) => "the desktop starts hob at login",
        None if has_work => {
            return Some(Finding::bad(
                FindingLevel::Warning,
                "autostart",
                "off: after a reboot, jobs and loops do not run until a command starts hob",
                "hob autostart on",
            ));
        }
        None => return None,
    };
    Some(Finding::well("autostart", how))
}
