//! What is hidden or protected stays so under every other name: a renamed parent, a bind mount, a
//! hard link, a name that does not exist yet.

use crate::rig::{Rig, got, levels, mark, search, shim, until};
use hob_exec::{ExecError, SandboxMode, SandboxPolicy};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A home of hob's three folders down in the workspace.
fn home_inside(rig: &Rig) -> PathBuf {
    let home = rig.work().join("deep/er/hob");
    fs::create_dir_all(&home).expect("made");
    fs::write(home.join("owner.token"), "canary").expect("written");
    home
}

#[tokio::test]
async fn folders_above_a_hidden_one_cannot_be_renamed() {
    let swap = |one: &str, other: &str| {
        format!(
            "mkdir -p {other}; python3 -c 'import ctypes; c=ctypes.CDLL(None); print(\"GOT\" if c.syscall(316, -100, b\"{one}\", -100, b\"{other}\", 2) == 0 else \"no\")'"
        )
    };
    let acts = [
        "mv deep away && echo GOT".to_owned(),
        "mv deep/er deep/away && echo GOT".to_owned(),
        "mkdir -p z && mv deep/er z/ && echo GOT".to_owned(),
        "mv deep/er/hob away && echo GOT".to_owned(),
        "rm -rf deep; test -e deep/er || echo GOT".to_owned(),
        swap("deep", "other"),
        swap("deep/er", "deep/other"),
    ];
    for rig in levels().await {
        let home = home_inside(&rig);
        for act in &acts {
            let hide = |policy: &mut SandboxPolicy| policy.hidden.push(home.clone());
            let exit = rig.sh_with(act, hide).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
            // What counts is the next command, which looks for the home where it was.
            let exit = rig.sh_with("grep -rs canary . && echo GOT", hide).await;
            assert!(!got(&exit), "{:?}, after {act}: {exit:#?}", rig.level);
            assert!(home.join("owner.token").is_file(), "{act}");
        }
        let beside = "echo x > deep/file && mv deep/file deep/er/file && chmod 700 deep/er && mkdir deep/new && mv deep/new deep/newer && echo GOT";
        let exit = rig.sh_with(beside, |policy| policy.hidden.push(home.clone()));
        let exit = exit.await;
        assert!(got(&exit), "beside, {:?}: {exit:#?}", rig.level);
        let exit = rig.sh("mv deep gone && echo GOT").await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
    }
}

#[tokio::test]
async fn a_home_that_does_not_exist_yet_cannot_be_planted() {
    for rig in levels().await {
        let home = rig.work().join(".local/share/hob");
        let act =
            "mkdir -p .local/share/hob && echo evil > .local/share/hob/config.toml && echo GOT";
        let exit = rig.sh_with(act, |policy| policy.hidden.push(home.clone()));
        let exit = exit.await;
        assert!(!got(&exit), "{:?}: {exit:#?}", rig.level);
        let left: Vec<_> = fs::read_dir(rig.work()).expect("readable").collect();
        assert!(left.is_empty(), "{:?}: {left:?}", rig.level);
        assert!(got(&rig.sh(act).await), "control, {:?}", rig.level);
    }
}

async fn refusal(rig: &Rig) -> String {
    match rig.spawner.spawn(rig.plan("true")).await {
        Err(ExecError::Policy(reason)) => reason,
        other => panic!("{:?}: {other:?}", rig.level),
    }
}

#[tokio::test]
async fn a_second_hard_link_is_refused_by_the_file_s_name() {
    for rig in levels().await {
        let config = rig.work().join(".git/config");
        fs::create_dir_all(rig.work().join(".git/hooks")).expect("made");
        fs::write(&config, "[core]\n").expect("written");
        let other = rig.work().join("other");
        fs::hard_link(&config, &other).expect("linked");
        let reason = refusal(&rig).await;
        assert!(reason.contains(&config.display().to_string()), "{reason}");
        assert!(reason.contains("find / -xdev -samefile"), "{reason}");
        fs::remove_file(&other).expect("removed");
        let exit = rig.sh("cat .git/config && echo GOT").await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
        // A program cannot make the second name itself.
        for act in [
            "ln .git/config other && echo GOT".to_owned(),
            format!("ln {}/owner.token other && echo GOT", rig.home().display()),
        ] {
            assert!(!got(&rig.sh(&act).await), "{:?}: {act}", rig.level);
        }
        assert!(
            got(&rig.sh("echo x > a && ln a b && echo GOT").await),
            "control"
        );
    }
}

#[tokio::test]
async fn a_second_hard_link_of_the_token_is_refused_wherever_it_is() {
    for rig in levels().await {
        let token = rig.home().join("owner.token");
        // The workspace may be on another disk; beside the home there is room for a link.
        let other = rig.home().with_extension("link");
        fs::hard_link(&token, &other).expect("linked");
        let reason = refusal(&rig).await;
        fs::remove_file(&other).expect("removed");
        assert!(reason.contains("owner.token"), "{reason}");
        assert!(got(&rig.sh("echo GOT").await), "control");
    }
}

/// Runs a stand-in for the daemon, and the script in its sandbox, with mounts that nobody else
/// sees. None where this machine lets nobody make them.
#[expect(clippy::disallowed_methods, reason = "it stands for the daemon itself")]
fn with_mounts(rig: &Rig, mounts: &str, script: &str, hidden: Option<&Path>) -> Option<bool> {
    let root = rustix::process::getuid().is_root();
    let unshare = |line: &str| {
        let mut command = Command::new("unshare");
        command.args(if root { &["-m"][..] } else { &["-Urm"][..] });
        command.args(["sh", "-e", "-c", line, "sh"]);
        command.stdin(Stdio::null());
        command
    };
    let possible = unshare("mount --bind /usr /usr").status();
    if !possible.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: nobody may make mounts here");
        return None;
    }
    let mut command = unshare(&format!("{mounts}\nexec \"$@\""));
    command.args(shim()).arg("parent").arg(search(rig.level));
    command.arg(rig.work()).arg(script).args(hidden);
    Some(command.status().expect("started").success())
}

#[tokio::test]
async fn a_bind_mount_of_the_home_is_hidden_with_it() {
    for rig in levels().await {
        let (work, home) = (rig.work().display(), rig.home().display());
        let above = rig.home().parent().expect("a parent").display();
        let name = rig.home().file_name().expect("a name").to_string_lossy();
        for folder in ["sub/whole", "above", "part", ".git/hooks", "git"] {
            fs::create_dir_all(rig.work().join(folder)).expect("made");
        }
        fs::create_dir(rig.home().join("run")).expect("made");
        fs::write(rig.home().join("run/deeper"), "canary-deeper").expect("written");
        fs::write(rig.work().join("token"), "").expect("written");
        let mounts = format!(
            "mount --bind {home} {work}/sub/whole
             mount --bind {above} {work}/above
             mount --bind {home}/run {work}/part
             mount --bind {home}/owner.token {work}/token
             mount --bind {work}/.git {work}/git"
        );
        let script = format!(
            "cat sub/whole/owner.token above/{name}/owner.token part/deeper token > seen
             mv sub away && echo MOVED >> seen
             echo evil > git/hooks/pre-commit && echo PLANTED >> seen
             echo RAN >> seen"
        );
        let seen = rig.work().join("seen");
        let Some(ran) = with_mounts(&rig, &mounts, &script, Some(rig.home())) else {
            continue;
        };
        assert!(ran, "{:?}", rig.level);
        let text = fs::read_to_string(&seen).expect("there");
        assert_eq!(text, "RAN\n", "{:?}", rig.level);
        let hook = rig.work().join(".git/hooks/pre-commit");
        assert!(!hook.exists(), "{:?}", rig.level);
        fs::remove_file(&seen).expect("removed");
        let script = "cat sub/whole/owner.token part/deeper token > seen; echo RAN >> seen";
        assert_eq!(with_mounts(&rig, &mounts, script, None), Some(true));
        let text = fs::read_to_string(&seen).expect("there");
        assert_eq!(text.matches("canary").count(), 3, "control: {text}");
        // A workspace that is hob's home under another name is no workspace.
        let mounts = format!("mount --bind {home} {work}");
        let ran = with_mounts(&rig, &mounts, "true", Some(rig.home()));
        assert_eq!(ran, Some(false), "{:?}", rig.level);
    }
}

#[tokio::test]
async fn a_plain_home_is_protected_and_as_it_was_afterwards() {
    for rig in levels().await {
        let home = rig.work();
        fs::create_dir(home.join("docs")).expect("made");
        let hidden = vec![rig.home().to_owned(), home.join(".config/hob")];
        let policy = SandboxPolicy::workspace(&[home.to_owned()], Some(home), hidden);
        let plan = |act: &str| rig.plan_in(act, SandboxMode::Policy(policy.clone()));
        for act in [
            "echo evil > .profile && echo GOT",
            "rm -f .profile && echo evil > .profile && echo GOT",
            "mkdir -p .config/autostart && echo evil > .config/autostart/x.desktop && echo GOT",
            "mkdir -p .config/hob && echo GOT",
            "mv .config x && mkdir -p .config/fish && echo GOT",
            "mkdir -p .ssh && echo evil > .ssh/authorized_keys && echo GOT",
            "mkdir -p .local/bin && echo GOT",
        ] {
            let exit = rig.run(plan(act)).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
            assert_eq!(names(home), ["docs"], "{:?}: {act}", rig.level);
        }
        // A login shell starts as in a home without start files, and an existing folder is open.
        let exit = rig
            .run(plan(
                "HOME=$PWD bash -lic 'echo GOT > docs/fine; cat docs/fine'",
            ))
            .await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
        assert!(!exit.stderr.text().contains("directory"), "{exit:#?}");
        assert_eq!(names(home), ["docs"], "{:?}", rig.level);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[tokio::test]
async fn what_a_killed_shim_leaves_is_removed_by_the_next_run() {
    for rig in levels().await {
        let mark = mark("killed");
        let script = format!("touch up; exec -a {mark} sleep 1000");
        let child = rig.spawn(rig.plan(&script)).await;
        until("it runs", || rig.work().join("up").exists()).await;
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.pid())).expect("there");
        let (_, after) = stat.rsplit_once(')').expect("a name");
        let parent = after.split_whitespace().nth(1).expect("a parent");
        let shim = rustix::process::Pid::from_raw(parent.parse().expect("a number"));
        let signal = rustix::process::Signal::KILL;
        rustix::process::kill_process(shim.expect("a process"), signal).expect("killed");
        child.wait().await.expect_err("nobody can say how it ended");
        until("all are gone", || crate::rig::alive(&mark) == 0).await;
        assert!(rig.work().join(".git").is_dir(), "control: it is left");
        assert!(got(&rig.sh("echo GOT").await), "{:?}", rig.level);
        assert!(!rig.work().join(".git").exists(), "{:?}", rig.level);
    }
}
