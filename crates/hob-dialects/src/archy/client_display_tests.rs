//! Environments with and without a desktop.

use super::parse_display;

#[test]
fn a_desktop_is_what_can_show_a_window() {
    let environ = b"HOME=/root\0MY_DISPLAY=:5\0DISPLAY=:1\0XAUTHORITY=/x\0EMPTY=\0";
    let display = parse_display(environ).unwrap();
    assert_eq!(display.x11.as_deref(), Some(":1"));
    assert_eq!(display.authority.as_deref(), Some("/x"));
    assert_eq!((display.wayland, display.bus), (None, None));
    let display =
        parse_display(b"WAYLAND_DISPLAY=wayland-1\0XDG_RUNTIME_DIR=/run/user/7\0").unwrap();
    assert_eq!(display.wayland.as_deref(), Some("wayland-1"));
    assert_eq!(display.runtime_dir.as_deref(), Some("/run/user/7"));
}

#[test]
fn elsewhere_there_is_none() {
    for environ in [
        &b""[..],
        b"HOME=/root\0",
        b"DISPLAY=\0",
        b"DISPLAY",
        b"XDISPLAY=:1\0",
        b"XDG_RUNTIME_DIR=/run/user/7\0",
        b"DISPLAY=\xff\xfe\0",
    ] {
        assert_eq!(parse_display(environ), None);
    }
}
