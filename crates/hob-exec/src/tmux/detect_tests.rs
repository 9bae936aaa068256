//! Which tmux is found, and what is said when none is.

use super::*;
use std::os::unix::fs::PermissionsExt;

/// A folder of programs that say something.
fn programs(named: &[(&str, &str)]) -> (tempfile::TempDir, EnvVars) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, says) in named {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("set");
    }
    let env = EnvVars::from_pairs([("PATH", folder.path().as_os_str())]);
    (folder, env)
}

#[test]
fn versions_are_read_as_tmux_writes_them() {
    assert_eq!(parse_version("3.3a"), Some((3, 3)));
    assert_eq!(parse_version("next-3.5"), Some((3, 5)));
    assert_eq!(parse_version("openbsd-7.4"), Some((7, 4)));
    assert_eq!(parse_version("3.10"), Some((3, 10)));
    assert!(parse_version("master") > Some(VERSION_MIN));
    assert_eq!(parse_version("hello"), None);
}

#[tokio::test]
async fn without_tmux_one_sentence_says_so_and_how_to_install_it() {
    for (manager, command) in INSTALL_COMMANDS {
        let (_folder, env) = programs(&[(manager, "")]);
        let missing = TmuxProgram::find(&env, None)
            .await
            .expect_err("no tmux there");
        let answer = missing.to_string();
        assert!(answer.starts_with("Terminals need tmux, which is not installed; run: "));
        assert!(
            answer.ends_with(command.trim_start_matches("sudo ")),
            "{answer}"
        );
    }
    let (_folder, env) = programs(&[]);
    let answer = TmuxProgram::find(&env, Some(""))
        .await
        .expect_err("none")
        .to_string();
    assert!(answer.ends_with("install the package 'tmux'"), "{answer}");
}

#[tokio::test]
async fn an_old_one_a_named_one_that_is_not_there_and_no_tmux_at_all_are_told_apart() {
    let (folder, env) = programs(&[("tmux", "tmux 3.1c"), ("other", "tmux 3.4"), ("no", "hi")]);
    let old = TmuxProgram::find(&env, None).await.expect_err("too old");
    assert!(matches!(&old, TmuxMissing::Old { version, .. } if version == "3.1c"));
    let found = TmuxProgram::find(&env, Some("other"))
        .await
        .expect("new enough");
    assert_eq!(found.program, folder.path().join("other"));
    assert_eq!(found.version, "3.4");
    let named = TmuxProgram::find(&env, Some("/nowhere/tmux")).await;
    assert!(matches!(named, Err(TmuxMissing::Named { .. })));
    let broken = TmuxProgram::find(&env, Some("no")).await;
    assert!(matches!(broken, Err(TmuxMissing::Broken { .. })));
}
