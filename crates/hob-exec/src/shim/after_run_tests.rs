//! Which repositories are renamed, and which stay.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

struct Work(tempfile::TempDir);

impl Work {
    fn new() -> Work {
        Work(tempfile::tempdir().expect("a folder"))
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().expect("is there")
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn repository(&self, name: &str, config: &str) {
        self.put(&format!("{name}/HEAD"), "ref: refs/heads/main\n");
        self.put(&format!("{name}/config"), config);
        self.put(&format!("{name}/objects/info/x"), "");
        self.put(&format!("{name}/refs/heads/x"), "");
        self.put(&format!("{name}/hooks/pre-commit.sample"), "x");
        self.executable(&format!("{name}/hooks/pre-commit.sample"));
    }

    fn executable(&self, name: &str) {
        let path = self.root().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("changed");
    }

    /// What is renamed, below the root.
    fn inspect(&self) -> Vec<String> {
        let policy = SandboxPolicy::workspace(&[self.root()], None, Vec::new());
        let left = inspect_and_quarantine(&policy);
        assert!(!left.is_incomplete);
        let shown = |found: &QuarantinedRepository| {
            let renamed = found.renamed.as_ref().expect("is renamed");
            let (is_there, is_gone) = (
                fs::symlink_metadata(renamed).is_ok(),
                fs::symlink_metadata(&found.path).is_err(),
            );
            assert!(is_there && is_gone, "{found:?}: {is_there} {is_gone}");
            let below = found.path.strip_prefix(self.root()).expect("in it");
            below.display().to_string()
        };
        let mut found: Vec<String> = left.quarantined.iter().map(shown).collect();
        found.sort();
        found
    }
}

const PLAIN: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.org/a\n";
const EVIL: &str = "[core]\n\tfsmonitor = ./evil.sh\n";

#[test]
fn ordinary_repositories_stay() {
    let work = Work::new();
    work.repository("a/.git", PLAIN);
    work.repository("b/.git", PLAIN);
    work.repository("b/.git/modules/c", PLAIN);
    work.put("b/c/.git", "gitdir: ../.git/modules/c\n");
    work.put("a/.git/hooks/pre-commit", "not executable");
    work.repository("bare.git", PLAIN);
    work.put("a/.git/worktrees/wt/commondir", "../..\n");
    work.put("a/.git/worktrees/wt/HEAD", "ref: x\n");
    work.put(
        "wt/.git",
        &format!("gitdir: {}/a/.git/worktrees/wt\n", work.root().display()),
    );
    assert_eq!(work.inspect(), [] as [String; 0]);
    assert!(work.root().join("b/c/.git").is_file());
}

#[test]
fn repositories_that_run_programs_are_renamed() {
    let work = Work::new();
    work.repository("config/.git", EVIL);
    work.repository("case/.GIT", EVIL);
    work.repository("worktree/.git", PLAIN);
    work.put("worktree/.git/config.worktree", EVIL);
    work.repository("hook/.git", PLAIN);
    work.put("hook/.git/hooks/post-checkout", "#!/bin/sh\n");
    work.executable("hook/.git/hooks/post-checkout");
    work.repository("hook-link/.git", PLAIN);
    symlink(
        "/bin/true",
        work.root().join("hook-link/.git/hooks/pre-push"),
    )
    .expect("made");
    work.repository("hooks-link/.git", PLAIN);
    fs::remove_dir_all(work.root().join("hooks-link/.git/hooks")).expect("gone");
    symlink("/usr/bin", work.root().join("hooks-link/.git/hooks")).expect("made");
    work.repository("bare", EVIL);
    work.put("common/HEAD", "ref: x\n");
    work.put("common/commondir", "../bare\n");
    work.repository("store", PLAIN);
    work.put("file/.git", "gitdir: ../bare\n");
    work.put("outside/.git", "gitdir: /tmp/somebody\n");
    symlink("../bare", work.root().join("link.git")).expect("made");
    fs::create_dir(work.root().join("link")).expect("made");
    symlink("../bare", work.root().join("link/.git")).expect("made");
    work.repository("config-link/.git", PLAIN);
    fs::remove_file(work.root().join("config-link/.git/config")).expect("gone");
    symlink(
        "../../bare/config",
        work.root().join("config-link/.git/config"),
    )
    .expect("made");
    work.repository("sub/.git", PLAIN);
    work.repository("sub/.git/modules/m", EVIL);
    let expected = [
        "bare",
        "case/.GIT",
        "common",
        "config-link/.git",
        "config/.git",
        "file/.git",
        "hook-link/.git",
        "hook/.git",
        "hooks-link/.git",
        "link/.git",
        "outside/.git",
        "sub/.git/modules/m",
        "worktree/.git",
    ];
    assert_eq!(work.inspect(), expected);
    assert!(work.root().join("sub/.git/config").exists(), "it stays");
    let head = work.root().join("config/.git.quarantined/HEAD.quarantined");
    assert!(head.exists(), "nothing is lost");
    assert_eq!(work.inspect(), [] as [String; 0], "once is enough");
    // The name that is taken gets a number, and nothing is replaced.
    work.repository("config/.git", EVIL);
    assert_eq!(work.inspect(), ["config/.git"]);
    assert!(
        work.root()
            .join("config/.git.quarantined-2/config")
            .exists()
    );
}

#[test]
fn the_workspace_itself_as_a_bare_repository_loses_its_head() {
    let work = Work::new();
    work.repository(".", EVIL);
    assert_eq!(work.inspect(), ["HEAD"]);
    assert!(work.root().join("HEAD.quarantined").exists());
}

#[test]
fn what_was_there_before_is_left_alone_and_new_autostart_files_are_named() {
    let work = Work::new();
    work.repository("old/.git", EVIL);
    work.put(".envrc", "x");
    work.put("a/.vscode/tasks.json", "{}");
    work.put("node_modules/a/.github/workflows/x.yml", "x");
    work.put(".github/workflows/x.yml", "x");
    let root = work.root();
    let mut policy = SandboxPolicy::workspace(std::slice::from_ref(&root), None, Vec::new());
    policy
        .protected
        .extend([root.join("old/.git"), root.join(".envrc")]);
    let left = inspect_and_quarantine(&policy);
    assert_eq!(left.quarantined, []);
    let mut created = left.created;
    created.sort();
    let expected = [
        root.join(".github/workflows"),
        root.join("a/.vscode/tasks.json"),
    ];
    assert_eq!(created, expected);
}
