//! Whose desktop a window is shown on: that of whoever asks, which the daemon may know nothing of.

use hob_kit::world::Env;
use hob_wire::rooms::terminal::Display;
use std::ffi::OsString;

/// The environment with another desktop in it. Of the daemon's own nothing is left then, since a
/// mixture of two desktops is none.
pub fn on_display(env: &Env, display: Option<&Display>) -> Env {
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
        .beginning_with("")
        .filter(|(name, _)| !of_asker.iter().any(|(own, _)| name == own));
    let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let given = of_asker.iter().filter_map(|(name, value)| {
        Some((OsString::from(name), OsString::from(value.as_deref()?)))
    });
    Env::from_pairs(kept.chain(given))
}

#[cfg(test)]
#[path = "display_tests.rs"]
mod tests;
