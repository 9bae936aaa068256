//! Homes in every state of disrepair.

use super::*;
use crate::terminal::Terminal;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::{EnvVars, HostEnvironment};
use hob_kit::randomness::Randomness;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn context(root: &Path) -> CommandContext {
    let host = HostEnvironment {
        clock: Clock::system(),
        randomness: Randomness::seeded(1),
        env: EnvVars::from_pairs([("HOB_AUTOSTART", "0")]),
        home: Home::at(root),
    };
    let terminal = Terminal::new(&host, false);
    CommandContext::new(host, terminal)
}

async fn examined(root: &Path) -> Vec<Finding> {
    examine_home(&context(root)).await
}

fn made(root: &Path) -> Home {
    let home = Home::at(root);
    home.ensure().expect("the home can be made");
    home
}

fn of_check<'a>(findings: &'a [Finding], check: &str) -> Vec<&'a Finding> {
    findings
        .iter()
        .filter(|finding| finding.check == check)
        .collect()
}

fn worst(findings: &[Finding]) -> FindingLevel {
    findings
        .iter()
        .map(|finding| finding.level)
        .max()
        .unwrap_or(FindingLevel::Well)
}

#[tokio::test]
async fn a_home_that_does_not_exist_yet_is_well() {
    let root = tempfile::tempdir().expect("a directory");
    let findings = examined(&root.path().join("none")).await;
    assert_eq!(worst(&findings), FindingLevel::Well, "{findings:#?}");
}

#[tokio::test]
async fn an_open_home_is_found_with_the_command_that_closes_it() {
    let root = tempfile::tempdir().expect("a directory");
    let home = made(root.path());
    fs::write(home.owner_token(), "x").expect("writable");
    fs::set_permissions(home.owner_token(), fs::Permissions::from_mode(0o644)).expect("ours");
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    let findings = examined(root.path()).await;
    let home_findings = of_check(&findings, "home");
    let levels: Vec<FindingLevel> = home_findings.iter().map(|finding| finding.level).collect();
    assert_eq!(
        levels,
        [FindingLevel::Broken, FindingLevel::Warning],
        "{findings:#?}"
    );
    let fix = home_findings[0].fix.clone().unwrap_or_default();
    assert!(fix.starts_with("chmod 700"), "{fix}");
    let fix = home_findings[1].fix.clone().unwrap_or_default();
    assert!(
        fix.starts_with("chmod 600") && fix.contains("owner.token"),
        "{fix}"
    );
}

#[tokio::test]
async fn a_wrong_config_is_broken_and_named() {
    let root = tempfile::tempdir().expect("a directory");
    let home = made(root.path());
    fs::write(home.config_file(), "[log]\nlevle = \"info\"\n").expect("writable");
    let findings = examined(root.path()).await;
    let config = of_check(&findings, "config");
    assert_eq!(config[0].level, FindingLevel::Broken);
    assert!(config[0].message.contains("levle"), "{}", config[0].message);
}

#[tokio::test]
async fn what_a_killed_daemon_left_is_a_note() {
    let root = tempfile::tempdir().expect("a directory");
    let home = made(root.path());
    let state = serde_json::json!({
        "host": "127.0.0.1", "port": 1, "pid": 999_999, "startedAt": 1,
        "socket": home.socket(), "protocol": 1, "version": "0.1.0",
    });
    fs::write(home.state_file(), state.to_string()).expect("writable");
    let findings = examined(root.path()).await;
    assert_eq!(
        of_check(&findings, "state file")[0].level,
        FindingLevel::Note
    );
}

#[tokio::test]
async fn a_lost_database_is_broken_and_a_new_home_is_not() {
    let root = tempfile::tempdir().expect("a directory");
    let home = made(root.path());
    let findings = examined(root.path()).await;
    assert_eq!(of_check(&findings, "store")[0].level, FindingLevel::Well);
    let mut lock = hob_kit::home_lock::HomeLock::acquire(&home).expect("free");
    lock.mark_has_database().expect("writable");
    drop(lock);
    let findings = examined(root.path()).await;
    let store = of_check(&findings, "store");
    assert_eq!(store[0].level, FindingLevel::Broken, "{findings:#?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = made(folder.path());
    fs::set_permissions(home.logs(), fs::Permissions::from_mode(0o500)).expect("is set");
    let findings = examined(folder.path()).await;
    let told = findings
        .iter()
        .any(|it| it.level == FindingLevel::Broken && it.message.contains("cannot be written"));
    // Root writes where modes forbid it.
    assert_eq!(told, !rustix::process::geteuid().is_root(), "{findings:?}");
}

#[test]
fn a_read_only_file_system_is_told_with_what_to_do() {
    let told = home::refused(Path::new("/x/hob"), rustix::io::Errno::ROFS).expect("is told");
    assert_eq!(told.level, FindingLevel::Broken);
    assert!(
        told.message.contains("/x/hob cannot be written"),
        "{told:?}"
    );
    assert!(told.fix.expect("a fix").contains("HOB_HOME"));
    assert_eq!(
        home::refused(Path::new("/x"), rustix::io::Errno::NOENT),
        None
    );
}
