//! A workspace that is a home folder, and repositories that a command creates (fault 67).

use crate::rig::{Rig, got, levels};
use hob_exec::{SandboxMode, SandboxPolicy};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

fn lay_out(rig: &Rig) -> PathBuf {
    let home = rig.work().canonicalize().expect("is there");
    for folder in ["work/deep", "bin", ".config", "old"] {
        fs::create_dir_all(home.join(folder)).expect("made");
    }
    fs::write(home.join(".bashrc"), "# mine\n").expect("written");
    fs::write(home.join("notes.txt"), "mine\n").expect("written");
    fs::write(home.join("bin/tool"), "mine\n").expect("written");
    home
}

async fn run(rig: &Rig, act: &str, policy: &SandboxPolicy) -> Arc<hob_exec::ChildExit> {
    rig.run(rig.plan_in(act, SandboxMode::Policy(policy.clone())))
        .await
}

#[tokio::test]
async fn nothing_new_appears_at_the_top_of_a_home_folder() {
    for rig in levels().await {
        let home = lay_out(&rig);
        let policy = SandboxPolicy::workspace(std::slice::from_ref(&home), Some(&home), Vec::new());
        for act in [
            "echo evil > .bash_aliases && echo GOT",
            "echo evil > .xsessionrc && echo GOT",
            "echo evil > .pam_environment && echo GOT",
            "mkdir -p .local/lib/python3.12/site-packages && echo GOT",
            "echo evil >> .bashrc && echo GOT",
            "mv .bashrc x && echo GOT",
            "echo evil > work/x; mv work/x .profile && echo GOT",
            "ln -s /tmp .ssh && echo GOT",
            "mkdir .config/autostart && echo GOT",
            "echo evil > new.txt && echo GOT",
            "echo evil > bin/ls && echo GOT",
            "echo evil > bin/tool && echo GOT",
            "mv work gone && echo GOT",
            "mkdir -p .git && echo GOT",
        ] {
            let exit = run(&rig, act, &policy).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
        }
        let beside = "echo a > work/new && mkdir work/folder && echo b > notes.txt && cat .bashrc bin/tool && echo GOT";
        let exit = run(&rig, beside, &policy).await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
        assert_eq!(
            fs::read_to_string(home.join("notes.txt")).expect("there"),
            "b\n"
        );
        assert!(home.join("work/folder").is_dir());
        let mut names: Vec<_> = fs::read_dir(&home)
            .expect("lists")
            .map(|entry| entry.expect("one").file_name())
            .collect();
        names.sort();
        let expected = [".bashrc", ".config", "bin", "notes.txt", "old", "work"];
        assert_eq!(names, expected, "no placeholder is left");
        // The same acts work where the folder is not the home folder.
        let plain = SandboxPolicy::workspace(std::slice::from_ref(&home), None, Vec::new());
        let exit = run(
            &rig,
            "echo x > .bash_aliases && echo x > new.txt && echo GOT",
            &plain,
        );
        assert!(got(&exit.await), "control, {:?}", rig.level);
    }
}

#[tokio::test]
async fn a_folder_above_the_home_folder_keeps_its_other_parts() {
    for rig in levels().await {
        let above = rig.work().canonicalize().expect("is there");
        for folder in ["me/work", "other"] {
            fs::create_dir_all(above.join(folder)).expect("made");
        }
        let policy = SandboxPolicy::workspace(
            std::slice::from_ref(&above),
            Some(&above.join("me")),
            Vec::new(),
        );
        for act in [
            "touch me/.bash_aliases && echo GOT",
            "touch me/new && echo GOT",
        ] {
            assert!(
                !got(&run(&rig, act, &policy).await),
                "{:?}: {act}",
                rig.level
            );
        }
        let act = "touch other/new me/work/new && echo GOT";
        assert!(
            got(&run(&rig, act, &policy).await),
            "control, {:?}",
            rig.level
        );
    }
}

#[tokio::test]
async fn a_repository_that_runs_programs_is_renamed_and_an_ordinary_one_stays() {
    for rig in levels().await {
        let root = rig.work().canonicalize().expect("is there");
        let fine = "export HOME=/tmp GIT_CONFIG_NOSYSTEM=1; git init -q fine && cd fine && echo a > a && git add a && git -c user.name=a -c user.email=a@b commit -qm a && git log --oneline && echo GOT";
        let exit = rig.sh(fine).await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
        assert_eq!(exit.left_behind, hob_exec::LeftBehind::default());
        assert!(root.join("fine/.git/config").exists(), "it stays");
        let evil = "export HOME=/tmp GIT_CONFIG_NOSYSTEM=1; for n in a b; do git init -q $n; done; git -C a config core.fsmonitor ./evil.sh; printf '#!/bin/sh\\n' > b/.git/hooks/pre-commit; chmod +x b/.git/hooks/pre-commit; mkdir .vscode; echo {} > .vscode/tasks.json";
        let exit = rig.sh(evil).await;
        let left = &exit.left_behind;
        let mut renamed: Vec<_> = left.quarantined.iter().map(|it| it.path.clone()).collect();
        renamed.sort();
        assert_eq!(
            renamed,
            [root.join("a/.git"), root.join("b/.git")],
            "{exit:#?}"
        );
        assert_eq!(left.created, [root.join(".vscode/tasks.json")]);
        for name in ["a", "b"] {
            assert!(!root.join(name).join(".git").exists());
            assert!(root.join(name).join(".git.quarantined").is_dir());
        }
        assert!(root.join("fine/.git/config").exists(), "it still stays");
        for name in ["a", "b", "fine", ".vscode"] {
            fs::remove_dir_all(root.join(name)).expect("gone");
        }
    }
}

#[tokio::test]
async fn a_repository_of_a_run_that_is_cut_off_is_looked_at_too() {
    for rig in levels().await {
        let act = "mkdir -p a/.git; printf '[core]\\nfsmonitor=x\\n' > a/.git/config; echo made; sleep 60";
        let child = rig.spawn(rig.plan(act)).await;
        let until = std::time::Instant::now() + crate::rig::PATIENCE;
        while !rig.work().join("a/.git/config").exists() {
            assert!(std::time::Instant::now() < until);
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let exit = child.cancel().await.expect("ends");
        assert_eq!(exit.left_behind.quarantined.len(), 1, "{exit:#?}");
        assert!(!rig.work().join("a/.git").exists());
    }
}
