//! A script that a person approved runs with the bytes they saw (fault 71).

use crate::rig::{Rig, got, levels};
use hob_exec::shim_protocol::ExitCause;
use hob_exec::{BoundFile, ChildExit, SandboxMode};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const GOOD: &str = "#!/bin/bash\necho \"good $0\"\necho x > good\n";
const EVIL: &str = "#!/bin/bash\necho evil\n: > evil\n";
/// Runs with a swapper beside them, at each level and for each way to swap.
const TRIES: usize = 125;

fn put(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("changed");
}

fn bound(named: PathBuf, real: PathBuf) -> BoundFile {
    BoundFile {
        path: real,
        named,
        bytes: GOOD.into(),
        mode: 0o755,
        opens_at_start: true,
    }
}

async fn run(
    rig: &Rig,
    act: &str,
    file: &BoundFile,
) -> Result<Arc<ChildExit>, hob_exec::ExecError> {
    let mut policy = rig.policy();
    policy.bound_files = vec![file.clone()];
    let plan = rig.plan_in(act, SandboxMode::Policy(policy));
    rig.spawner.spawn(plan).await?.wait().await
}

#[tokio::test]
async fn a_run_sees_the_approved_bytes_and_cannot_change_them() {
    for rig in levels().await {
        let root = rig.work().canonicalize().expect("is there");
        let script = root.join("x.sh");
        put(&script, EVIL);
        let file = bound(script.clone(), script.clone());
        for act in ["./x.sh", "bash x.sh", "bash < x.sh", ". ./x.sh"] {
            let exit = run(&rig, act, &file).await.expect("runs");
            assert!(exit.stdout.text().starts_with("good"), "{act}: {exit:#?}");
        }
        let exit = run(&rig, "./x.sh", &file).await.expect("runs");
        assert_eq!(exit.stdout.text(), "good ./x.sh\n", "its name stays");
        for act in [
            "echo evil > x.sh && echo GOT",
            "chmod 777 x.sh && echo GOT",
            "rm -f x.sh && echo GOT",
            "mv x.sh y && echo GOT",
            "cp good y; mv -f y x.sh && echo GOT",
        ] {
            let exit = run(&rig, act, &file).await.expect("runs");
            assert!(!got(&exit), "{:?}: {act}: {exit:#?}", rig.level);
        }
        assert_eq!(
            fs::read_to_string(&script).expect("there"),
            EVIL,
            "outside nothing changed"
        );
        assert!(root.join("good").exists(), "what it writes stays");
        // Not executable stays so.
        let plain = BoundFile {
            mode: 0o644,
            ..file.clone()
        };
        let exit = run(&rig, "./x.sh || bash x.sh", &plain)
            .await
            .expect("runs");
        assert_eq!(exit.stdout.text(), "good x.sh\n", "{exit:#?}");
        // Without it, what lies there runs.
        let exit = rig.sh("./x.sh").await;
        assert!(exit.stdout.text().starts_with("evil"), "control: {exit:#?}");
    }
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_is_not_run() {
    for rig in levels().await {
        let root = rig.work().canonicalize().expect("is there");
        put(&root.join("real.sh"), GOOD);
        put(&root.join("other.sh"), EVIL);
        let link = root.join("link.sh");
        std::os::unix::fs::symlink("real.sh", &link).expect("made");
        let file = bound(link.clone(), root.join("real.sh"));
        let exit = run(&rig, "./link.sh", &file).await.expect("runs");
        assert!(exit.stdout.text().starts_with("good"), "control: {exit:#?}");
        fs::remove_file(&link).expect("gone");
        std::os::unix::fs::symlink("other.sh", &link).expect("made");
        let refused = run(&rig, "./link.sh", &file).await;
        assert!(refused.is_err(), "{refused:?}");
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "it stands for another program")]
async fn a_script_that_is_replaced_ends_the_run() {
    for rig in levels().await {
        let root = rig.work().canonicalize().expect("is there");
        fs::create_dir_all(root.join("sub")).expect("made");
        let script = root.join("sub/x.sh");
        put(&script, GOOD);
        put(&root.join("evil.sh"), EVIL);
        let mut file = bound(script.clone(), script.clone());
        file.opens_at_start = false;
        let act = "touch begun; while :; do bash sub/x.sh > out; grep -q evil out && touch ran; sleep 0.05; done";
        for swap in [
            "mv evil.sh sub/x.sh",
            "mv sub gone; mkdir sub; mv evil.sh sub/x.sh",
        ] {
            let mut policy = rig.policy();
            policy.bound_files = vec![file.clone()];
            let child = rig
                .spawn(rig.plan_in(act, SandboxMode::Policy(policy)))
                .await;
            while !root.join("begun").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let swapped = std::process::Command::new("sh")
                .args(["-c", swap])
                .current_dir(&root)
                .status();
            assert!(swapped.expect("runs").success());
            let exit = child.wait().await.expect("ends");
            assert_eq!(
                exit.cause,
                ExitCause::Replaced,
                "{:?}: {exit:#?}",
                rig.level
            );
            fs::remove_file(root.join("begun")).expect("gone");
            put(&root.join("evil.sh"), EVIL);
            fs::create_dir_all(root.join("sub")).expect("made");
            put(&script, GOOD);
        }
    }
}

#[tokio::test]
async fn a_swapper_never_gets_other_bytes_run() {
    for rig in levels().await {
        for by_rename in [false, true] {
            let root = rig.work().canonicalize().expect("is there");
            let script = root.join("x.sh");
            put(&script, GOOD);
            let stop = Arc::new(AtomicBool::new(false));
            let (told, at) = (Arc::clone(&stop), script.clone());
            let swapper = std::thread::spawn(move || swap(&at, by_rename, &told));
            let file = bound(script.clone(), script.clone());
            let (mut good, mut refused) = (0, 0);
            for _ in 0..TRIES {
                match run(&rig, "./x.sh", &file).await {
                    Ok(exit) if exit.stdout.text().starts_with("good") => good += 1,
                    Ok(_) | Err(_) => refused += 1,
                }
                assert!(
                    !root.join("evil").exists(),
                    "{:?}, by rename: {by_rename}: other bytes ran",
                    rig.level
                );
            }
            stop.store(true, Ordering::Relaxed);
            swapper.join().expect("ends");
            println!(
                "{:?}, by rename: {by_rename}: {good} good, {refused} refused",
                rig.level
            );
            assert!(
                by_rename || good == TRIES,
                "writing into it changes nothing: {good}"
            );
            let exit = run(&rig, "./x.sh", &file).await.expect("runs");
            assert!(exit.stdout.text().starts_with("good"), "control: {exit:#?}");
        }
    }
}

/// Puts the one and the other in the script's place until told to stop.
fn swap(script: &Path, by_rename: bool, stop: &AtomicBool) {
    let other = script.with_extension("new");
    for round in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            put(script, GOOD);
            return;
        }
        let text = if round % 2 == 0 { EVIL } else { GOOD };
        if by_rename {
            put(&other, text);
            fs::rename(&other, script).expect("renamed");
        } else {
            fs::write(script, text).expect("written");
        }
        std::thread::sleep(Duration::from_micros((round % 7) * 400));
    }
}
