//! The caller's display replaces the daemon's.

use super::on_display;
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::terminal::DisplayEnv;

#[test]
fn the_askers_desktop_replaces_the_daemons() {
    let env = EnvVars::from_pairs([
        ("PATH", "/bin"),
        ("WAYLAND_DISPLAY", "wayland-0"),
        ("DISPLAY", ":0"),
    ]);
    let asker = DisplayEnv {
        x11: Some(":7".to_owned()),
        authority: Some("/x".to_owned()),
        ..DisplayEnv::default()
    };
    let shown = on_display(&env, Some(&asker));
    let seen = ["PATH", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"].map(|name| shown.text(name));
    assert_eq!(seen, [Some("/bin"), Some(":7"), Some("/x"), None]);
    for none in [None, Some(&DisplayEnv::default())] {
        assert_eq!(
            on_display(&env, none).text("WAYLAND_DISPLAY"),
            Some("wayland-0")
        );
    }
}
