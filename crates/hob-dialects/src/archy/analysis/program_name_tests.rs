//! Command lines, and the program whose output they show.

use super::printing_program;

#[test]
fn the_program_is_what_prints() {
    for (line, expected) in [
        ("df -h", "df"),
        ("false", "false"),
        ("/usr/bin/ls -l", "ls"),
        ("sudo -u root ss -tlnp", "ss"),
        ("LANG=C LC_ALL=C ps aux", "ps"),
        ("env FOO=1 journalctl -u ssh", "journalctl"),
        ("timeout 5s nmap localhost", "nmap"),
        ("nice -n 5 top -b -n 1", "top"),
        ("ps aux | grep 'ssh; ls' | head -5", "ps"),
        ("cat x.json | jq .", "jq"),
        ("cd /tmp && ls -la", "ls"),
        ("cd /tmp; df", "df"),
        ("ls || df", "df"),
        ("sleep 1 & ps", "ps"),
        ("less x", "less"),
        ("echo \"a | ls\"", "echo"),
        ("curl https://example.org/ps", "curl"),
        ("echo 'df", "echo"),
        ("cat x | grep y", "cat"),
    ] {
        assert_eq!(printing_program(line), Some(expected), "{line}");
    }
    for line in ["", "  ", ";;", "|", "A=1", "sudo"] {
        assert_eq!(printing_program(line), None, "{line}");
    }
}
