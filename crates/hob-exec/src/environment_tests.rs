//! What a child inherits.

use super::*;

#[test]
fn only_listed_variables_pass_and_additions_win() {
    let env = EnvVars::from_pairs([
        ("PATH", "/mine"),
        ("OPENAI_API_KEY", "canary"),
        ("HOB_HOME", "/secret"),
        ("LD_PRELOAD", "/evil.so"),
        ("TERM", "xterm"),
    ]);
    let added = [(OsString::from("TERM"), OsString::from("dumb"))];
    let found = child_variables(&env, &added);
    let text: Vec<String> = found
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()))
        .collect();
    assert_eq!(text, ["PATH=/mine", "TERM=dumb"]);
}

#[test]
fn there_is_always_a_path() {
    let found = child_variables(&EnvVars::default(), &[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "PATH");
}
