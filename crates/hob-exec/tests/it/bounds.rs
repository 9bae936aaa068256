//! Bombs, floods and hoards stay within their bounds (faults 61, 62, 63).

use crate::rig::{PATIENCE, Rig, alive, facts, got, levels, mark};
use hob_exec::sandbox_level::ProcessLimiter;
use hob_exec::shim_protocol::ExitCause;
use hob_exec::{ChildExit, SpawnPlan};
use std::sync::Arc;
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// Runs a plan and counts, meanwhile, the most processes with the word.
async fn peak(rig: &Rig, plan: SpawnPlan, mark: &str) -> (Arc<ChildExit>, usize) {
    let child = rig.spawn(plan).await;
    let mut most = 0;
    while child.is_running() {
        most = most.max(alive(mark));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (child.wait().await.expect("known"), most)
}

fn many(mark: &str, count: usize) -> String {
    format!("for i in $(seq {count}); do (exec -a {mark} sleep 2) & done; wait; echo GOT")
}

#[tokio::test]
async fn processes_are_bounded_by_the_kernel() {
    for rig in levels().await {
        let bound = rig
            .spawner
            .sandbox_support()
            .await
            .expect("known")
            .processes;
        if bound != ProcessLimiter::Cgroup {
            eprintln!("NOT RUN: processes are bounded by {bound:?} here, not exactly");
            return;
        }
        let word = mark("many");
        let mut plan = rig.plan(&many(&word, 120));
        plan.limits.processes = 40;
        plan.deadline = Some(Duration::from_secs(2));
        let (exit, most) = peak(&rig, plan, &word).await;
        assert!(most <= 40, "{:?}: {most}", rig.level);
        assert!(!got(&exit), "{:?}", rig.level);
        assert_eq!(alive(&word), 0);
        let word = mark("granted");
        let (exit, most) = peak(&rig, rig.plan(&many(&word, 120)), &word).await;
        assert!(got(&exit) && most > 40, "{:?}: {most}", rig.level);
    }
}

#[tokio::test]
async fn a_fork_bomb_is_counted_and_ended_where_the_kernel_does_not() {
    for level in levels().await {
        let mut facts = facts(level.level).await;
        facts.processes = ProcessLimiter::Watched;
        let rig = Rig::with(facts);
        let word = mark("bomb");
        // The bomb is bounded by itself (511 processes), so that a broken watch fails this test and
        // not the machine: an endless one starves everybody else on it.
        let bomb = format!(
            "exec -a {word} bash -c 'b() {{ if [ $1 -lt 8 ]; then b $(($1+1)) & b $(($1+1)) & wait; else sleep 20; fi; }}; b 0'"
        );
        let mut plan = rig.plan(&bomb);
        plan.limits.processes = 100;
        let (exit, most) = peak(&rig, plan, &word).await;
        assert_eq!(exit.cause, ExitCause::Processes, "{:?}", rig.level);
        assert_eq!(alive(&word), 0, "{:?}", rig.level);
        eprintln!("{:?}: at most {most} seen with a bound of 100", rig.level);
    }
}

#[tokio::test]
async fn a_thread_bomb_is_bounded_too() {
    let script = "python3 -c '
import threading, time
made = 0
try:
    for i in range(200):
        threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
        made += 1
except RuntimeError:
    pass
print(\"GOT\" if made == 200 else \"stopped at %d\" % made, flush=True)
'";
    for rig in levels().await {
        if rig
            .spawner
            .sandbox_support()
            .await
            .expect("known")
            .processes
            != ProcessLimiter::Cgroup
        {
            return;
        }
        let mut plan = rig.plan(script);
        plan.limits.processes = 50;
        let exit = rig.run(plan).await;
        assert!(exit.stdout.text().contains("stopped at"), "{exit:#?}");
        assert!(got(&rig.sh(script).await), "{:?}", rig.level);
    }
}

#[tokio::test]
async fn a_file_and_a_temporary_folder_have_a_size() {
    for rig in levels().await {
        let big = "head -c 20M /dev/zero > big && echo GOT";
        let sparse = "truncate -s 10G sparse && echo GOT";
        for script in [big, sparse] {
            let mut plan = rig.plan(script);
            plan.limits.file_bytes = 2 * MIB;
            let exit = rig.run(plan).await;
            assert!(!got(&exit), "{:?}: {exit:#?}", rig.level);
        }
        let length =
            |name: &str| std::fs::metadata(rig.work().join(name)).map_or(0, |found| found.len());
        assert!(length("big") <= 2 * MIB && length("sparse") <= 2 * MIB);
        assert!(got(&rig.sh(big).await), "{:?}", rig.level);

        let fill =
            "for i in 1 2 3 4; do head -c 3M /dev/zero > /tmp/fill-$i || exit 1; done; echo GOT";
        let mut plan = rig.plan(fill);
        plan.limits.tmp_bytes = 8 * MIB;
        assert!(!got(&rig.run(plan).await), "{:?}", rig.level);
        assert!(got(&rig.sh(fill).await), "{:?}", rig.level);
        assert!(!std::path::Path::new("/tmp/fill-1").exists());
        assert!(!got(&rig.sh("test -e /tmp/fill-1 && echo GOT").await));
    }
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_ends_the_run() {
    for rig in levels().await {
        let free = rustix::fs::statvfs(rig.work()).expect("readable");
        let free = free.f_bavail * free.f_frsize;
        let mut plan = rig.plan("head -c 300M /dev/zero > fill && sleep 50; echo GOT");
        plan.limits.disk_free_bytes = free - 150 * MIB;
        let exit = rig.run(plan).await;
        assert_eq!(exit.cause, ExitCause::Disk, "{exit:#?}");
    }
}

#[tokio::test]
async fn a_flood_is_counted_and_kept_in_bounded_memory() {
    const FLOOD: u64 = 256 * MIB;
    for rig in levels().await {
        let file = rig.home().join("output");
        let mut plan =
            rig.plan("yes 2>/dev/null | head -c 256M; echo -n end; head -c 1M /dev/urandom >&2");
        plan.output_file = Some(file.clone());
        plan.limits.file_output_bytes = 3 * MIB;
        plan.deadline = Some(PATIENCE * 2);
        let before = resident();
        let child = rig.spawn(plan).await;
        let mut most = 0;
        while child.is_running() {
            most = most.max(resident().saturating_sub(before));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let exit = child.wait().await.expect("known");
        assert_eq!(exit.stdout.total_bytes, FLOOD + 3, "{:?}", rig.level);
        assert!(exit.stdout.is_truncated() && exit.stdout.tail.ends_with("y\nend"));
        assert_eq!(exit.stderr.total_bytes, MIB);
        assert_eq!(exit.output_file, Some((3 * MIB, true)));
        assert_eq!(std::fs::metadata(&file).expect("written").len(), 3 * MIB);
        assert!(most < 48 * MIB, "{:?}: {most} bytes more", rig.level);
        eprintln!("{:?}: {most} bytes more for a flood of {FLOOD}", rig.level);
    }
}

/// This process's resident memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    number.expect("a number") * 1024
}
