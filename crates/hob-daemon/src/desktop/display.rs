//! The desktop on which a window opens: the caller's, which may differ from the daemon's.

use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::terminal::DisplayEnv;
use std::ffi::OsString;

/// Returns the environment with the caller's desktop. All display variables of the daemon are
/// removed, because a mixture of two desktops does not work.
pub fn on_display(env: &EnvVars, display: Option<&DisplayEnv>) -> EnvVars {
    let Some(display) =
        display.filter(|display| display.x11.is_some() || display.wayland.is_some())
    else {
        return env.clone();
    };
    let of_asker = [
        ("DISPLAY", &display.x11),
        ("WAYLAND_DISPLAY", &display.wayland),
        ("XAUTHORITY", &display.authority),
        ("XDG_RUNTIME_DIR", &display.runtime_dir),
        ("DBUS_SESSION_BUS_ADDRESS", &display.bus),
    ];
    let kept = env
        .with_prefix("")
        .filter(|(name, _)| !of_asker.iter().any(|(own, _)| name == own));
    let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let given = of_asker.iter().filter_map(|(name, value)| {
        Some((OsString::from(name), OsString::from(value.as_deref()?)))
    });
    EnvVars::from_pairs(kept.chain(given))
}

#[cfg(test)]
#[path = "display_tests.rs"]
mod tests;
