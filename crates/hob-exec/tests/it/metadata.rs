//! Modes, times, owners and attributes of files outside the workspace stay as they are. Landlock
//! does not govern them; the read-only mounts do.

use crate::rig::{Rig, Stranger, got, levels};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// Ways to change a file without changing its content. Each says GOT when it worked.
fn changes(file: &str) -> Vec<String> {
    let python = |code: &str| format!("python3 -c 'import os; {code}; print(\"GOT\")'");
    vec![
        format!("chmod 644 {file} && echo GOT"),
        format!("touch -d 2001-02-03 {file} && echo GOT"),
        format!("chgrp $(id -g) {file} && echo GOT"),
        format!("chattr +A {file} && echo GOT"),
        python(&format!("os.setxattr(\"{file}\", \"user.hob\", b\"x\")")),
        python(&format!("os.utime(\"{file}\", (1, 1))")),
        python(&format!(
            "f=os.open(\"{file}\", os.O_RDONLY); os.fchmod(f, 0o640)"
        )),
        python(&format!(
            "f=os.open(\"{file}\", os.O_PATH); os.chmod(f\"/proc/self/fd/{{f}}\", 0o640)"
        )),
        python(&format!("os.chmod(\"/proc/self/root{file}\", 0o640)")),
        python(&format!(
            "os.chmod(\"/proc/self/cwd/../../../../../../../..{file}\", 0o640)"
        )),
    ]
}

/// A file with a known mode and time.
fn lay(folder: &Path) -> String {
    let file = folder.join("kept");
    fs::write(&file, "words").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let opened = fs::File::options().write(true).open(&file).expect("opened");
    opened.set_modified(then).expect("set");
    file.display().to_string()
}

/// All of it but the time of last access. Each change touches the time of the last one.
fn state(file: &str) -> (u32, i64, i64, i64, u32, u32) {
    let it = fs::symlink_metadata(file).expect("there");
    let changed = it.ctime_nsec();
    (
        it.mode(),
        it.mtime(),
        it.ctime(),
        changed,
        it.uid(),
        it.gid(),
    )
}

fn outside(rig: &Rig) -> TempDir {
    let beside = rig.home().parent().expect("a parent");
    TempDir::with_prefix_in(".hob-exec-outside-", beside).expect("a folder")
}

#[tokio::test]
async fn files_outside_keep_their_modes_times_and_attributes() {
    for rig in levels().await {
        let folder = outside(&rig);
        let file = lay(folder.path());
        let before = state(&file);
        for act in changes(&file) {
            let exit = rig.sh(&act).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
            assert_eq!(state(&file), before, "{:?}: {act}", rig.level);
        }
        let exit = rig.sh(&format!("cat {file} && echo GOT")).await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
        // The same acts work on the same file without a sandbox, and on an own file inside it.
        let own = lay(rig.work());
        for (act, on_own) in changes(&file).iter().zip(changes(&own)) {
            if !got(&rig.sh_free(act).await) {
                eprintln!("NOT RUN, this file system refuses it to everybody: {act}");
                continue;
            }
            let exit = rig.sh(&on_own).await;
            assert!(got(&exit), "control, {:?}: {on_own}\n{exit:#?}", rig.level);
        }
    }
}

#[tokio::test]
async fn the_token_stays_private_whether_it_is_hidden_or_only_outside() {
    let other = Stranger::start();
    for rig in levels().await {
        let token = rig.home().join("owner.token");
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).expect("set");
        let shown = token.display().to_string();
        let through = format!("/proc/{}/root{shown}", other.0.id());
        let before = state(&shown);
        let acts = changes(&shown).into_iter().chain(changes(&through));
        for act in acts {
            for hidden in [true, false] {
                let exit = rig.sh_with(&act, |policy| policy.hidden.retain(|_| hidden));
                let exit = exit.await;
                assert!(!got(&exit), "{:?}, {hidden}: {act}\n{exit:#?}", rig.level);
                assert_eq!(state(&shown), before, "{:?}: {act}", rig.level);
            }
        }
        let act = format!("chmod 600 {through} && echo GOT");
        assert!(got(&rig.sh_free(&act).await), "control: {act}");
    }
}

/// The workspace's own mount is writable outside the sandbox and inside it. No other process lends
/// its view of the file system, where all of it is.
#[tokio::test]
async fn no_other_process_lends_its_view() {
    let other = Stranger::start();
    for rig in levels().await {
        let folder = outside(&rig);
        let file = lay(folder.path());
        let pid = other.0.id();
        for way in [
            format!("/proc/{pid}/root"),
            format!("/proc/{pid}/task/{pid}/root"),
            "/proc/$PPID/root".to_owned(),
            "/proc/1/root".to_owned(),
        ] {
            let act = format!("echo x >> {way}{file} && echo GOT");
            assert!(!got(&rig.sh(&act).await), "{:?}: {act}", rig.level);
            let act = format!("chmod 644 {way}{file} && echo GOT");
            assert!(!got(&rig.sh(&act).await), "{:?}: {act}", rig.level);
        }
        assert_eq!(fs::read_to_string(&file).expect("there"), "words");
        assert_eq!(state(&file).0 & 0o777, 0o600);
    }
}

/// Root owns these. Each act sets what is there already, so that nothing is harmed by a hole.
#[tokio::test]
async fn devices_and_the_kernel_keep_their_modes_and_devices_still_work() {
    for rig in levels().await {
        let mode = |path: &str| fs::metadata(path).expect("there").mode() & 0o777;
        let mut acts = vec![
            format!(
                "chmod {:o} /proc/cpuinfo && echo GOT",
                mode("/proc/cpuinfo")
            ),
            format!("chmod {:o} /sys && echo GOT", mode("/sys")),
            format!(
                "python3 -c 'import os; os.fchmod(0, 0o{:o}); print(\"GOT\")'",
                mode("/dev/null")
            ),
        ];
        for device in ["null", "zero", "full", "random", "urandom"] {
            let device = format!("/dev/{device}");
            acts.push(format!("chmod {:o} {device} && echo GOT", mode(&device)));
        }
        for act in acts {
            let exit = rig.sh(&act).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
        }
        let exit = rig
            .sh("echo x > /dev/null && : > /dev/zero && test $(head -c 4 /dev/urandom | wc -c) = 4 && test -c /dev/stdin && ! read -r line && echo GOT")
            .await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
    }
}

#[tokio::test]
async fn scratch_folders_are_the_run_s_own() {
    for rig in levels().await {
        let exit = rig
            .sh("echo x > /tmp/a && chmod 600 /tmp/a && touch -d 2001-02-03 /tmp/a && echo x > /dev/shm/a && echo GOT")
            .await;
        assert!(got(&exit), "{:?}: {exit:#?}", rig.level);
        assert!(!Path::new("/dev/shm/a").exists());
    }
}
