//! What a process of the person's is given, and how programs are found.

use super::*;

#[test]
fn the_desktop_and_the_agent_of_keys_pass_and_nothing_else_does() {
    let env = EnvVars::from_pairs([
        ("PATH", "/bin"),
        ("DISPLAY", ":7"),
        ("XDG_RUNTIME_DIR", "/run/user/7"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("OPENAI_API_KEY", "secret"),
        ("HOB_HOME", "/h"),
        ("TMUX", "/tmp/other,1,0"),
    ]);
    let found = variables(&env, &[("HOB_X".into(), "y".into())]);
    let names: Vec<_> = found.iter().map(|(name, _)| name.to_str()).collect();
    let expected = [
        "DISPLAY",
        "HOB_X",
        "LC_CTYPE",
        "PATH",
        "SSH_AUTH_SOCK",
        "XDG_RUNTIME_DIR",
    ];
    assert_eq!(names, expected.map(Some));
}

#[test]
fn a_language_of_the_persons_own_stays() {
    let env = EnvVars::from_pairs([("LANG", "de_DE.UTF-8")]);
    let found = variables(&env, &[]);
    assert!(!found.iter().any(|(name, _)| name == "LC_CTYPE"));
}
