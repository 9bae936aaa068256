//! Finding programs.

use super::*;

#[test]
fn a_program_is_looked_up_in_the_path_only_when_it_is_a_bare_name() {
    let env = Env::from_pairs([("PATH", "relative:/nowhere:/bin:/usr/bin")]);
    let found = look_up("sh", &env).expect("a shell");
    assert!(found.is_absolute() && found.ends_with("sh"));
    assert_eq!(look_up("/bin/sh", &env), Some("/bin/sh".into()));
    assert_eq!(look_up("/etc/passwd", &env), None);
    assert_eq!(look_up("no-such-program", &env), None);
}
