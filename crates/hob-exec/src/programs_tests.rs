//! Finding programs.

use super::*;

#[test]
fn a_program_is_looked_up_in_the_path_only_when_it_is_a_bare_name() {
    let env = EnvVars::from_pairs([("PATH", "relative:/nowhere:/bin:/usr/bin")]);
    let found = find_program("sh", &env).expect("a shell");
    assert!(found.is_absolute() && found.ends_with("sh"));
    assert_eq!(find_program("/bin/sh", &env), Some("/bin/sh".into()));
    assert_eq!(find_program("/etc/passwd", &env), None);
    assert_eq!(find_program("no-such-program", &env), None);
}
