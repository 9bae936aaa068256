//! Parsing of the kernel's and the distribution's files.

use super::{load, memory, pretty_name, system, uptime};
use hob_kit::host_environment::EnvVars;

#[test]
fn what_the_kernel_says_is_read() {
    assert_eq!(
        memory("MemTotal:   2048 kB\nMemFree: 1 kB\nMemAvailable:  512 kB\n"),
        (2 << 20, 512 << 10)
    );
    assert_eq!(memory(""), (0, 0));
    assert_eq!(uptime("12345.67 999.00\n"), 12_345);
    assert_eq!(
        format!("{:?}", load("0.50 1.25 2.00 1/200 4711\n")),
        "[0.5, 1.25, 2.0]"
    );
    let debian = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
    assert_eq!(
        pretty_name(debian).as_deref(),
        Some("Debian GNU/Linux 12 (bookworm)")
    );
    assert_eq!(pretty_name("ID=x\n"), None);
}

#[test]
fn this_machine_is_one() {
    let bare = system(&EnvVars::from_pairs([("PATH", "/nowhere")]));
    assert!(bare.memory_bytes > 0 && bare.processors > 0 && !bare.kernel.is_empty());
    assert!(
        !bare.user.is_empty() && bare.shell.starts_with('/'),
        "{bare:?}"
    );
    assert_eq!((bare.display, bare.terminals), (None, Vec::new()));
    let env = EnvVars::from_pairs([
        ("USER", "ann"),
        ("SHELL", "/bin/fish"),
        ("WAYLAND_DISPLAY", "wayland-1"),
    ]);
    let info = system(&env);
    assert_eq!(
        (&*info.user, &*info.shell, info.display.as_deref()),
        ("ann", "/bin/fish", Some("wayland"))
    );
}
