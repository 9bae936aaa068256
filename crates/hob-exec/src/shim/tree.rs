//! Every descendant of the shim. As the shim is a subreaper, a process whose parent ended hangs on
//! the shim itself, whatever session or group it made: walking down from here finds all.
//!
//! Invariant: `end_now` returns when no descendant is alive, or says that some are.

use rustix::process::{Pid, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Passes that only stop processes, so that a fork bomb stands still before it is killed.
const FREEZE_PASSES: usize = 64;
/// After this, what is still there cannot be killed (it hangs in the kernel).
const KILL_TIME_MAX: Duration = Duration::from_secs(5);
const KILL_PAUSE: Duration = Duration::from_millis(2);

/// One line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    pid: i32,
    parent: i32,
    zombie: bool,
    threads: u64,
}

/// The living descendants of this process.
pub(super) fn descendants() -> Vec<i32> {
    let rows = table();
    below(rustix::process::getpid().as_raw_nonzero().get(), &rows)
        .into_iter()
        .map(|row| row.pid)
        .collect()
}

/// Processes and threads below this process.
pub(super) fn tasks() -> u64 {
    let rows = table();
    let found = below(rustix::process::getpid().as_raw_nonzero().get(), &rows);
    found.iter().map(|row| row.threads).sum()
}

/// Processes and threads of this user on the whole machine.
pub(super) fn tasks_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid().as_raw();
    let ours = |row: &&Row| {
        std::fs::metadata(format!("/proc/{}", row.pid)).is_ok_and(|found| found.uid() == user)
    };
    let rows = table();
    rows.iter().filter(ours).map(|row| row.threads).sum()
}

/// Sends a signal to each; those already gone are no error.
pub(super) fn signal(pids: &[i32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills every descendant at once. `reap` waits for the dead between passes. False when some
/// could not be killed.
pub(super) fn end_now(mut reap: impl FnMut()) -> bool {
    let mut stopped = BTreeSet::new();
    for _ in 0..FREEZE_PASSES {
        let found = descendants();
        let running: Vec<i32> = found
            .iter()
            .copied()
            .filter(|pid| !stopped.contains(pid))
            .collect();
        if running.is_empty() {
            break;
        }
        signal(&running, Signal::STOP);
        stopped.extend(running);
    }
    let begun = Instant::now();
    loop {
        let found = descendants();
        signal(&found, Signal::KILL);
        reap();
        if found.is_empty() {
            return true;
        }
        if begun.elapsed() > KILL_TIME_MAX {
            return false;
        }
        std::thread::sleep(KILL_PAUSE);
    }
}

fn below(root: i32, rows: &[Row]) -> Vec<Row> {
    let mut children: BTreeMap<i32, Vec<Row>> = BTreeMap::new();
    for row in rows {
        children.entry(row.parent).or_default().push(*row);
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        // Taken out, so that a table read while it changed cannot lead round in a circle.
        for row in children.remove(&parent).unwrap_or_default() {
            parents.push(row.pid);
            if !row.zombie {
                found.push(row);
            }
        }
    }
    found
}

fn table() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            row(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
        })
        .collect()
}

/// Reads `/proc/PID/stat`. The name in parentheses may hold anything, so what counts follows the
/// last of them.
fn row(pid: i32, stat: &[u8]) -> Option<Row> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut words = rest.split_ascii_whitespace();
    let state = words.next()?;
    let parent = words.next()?.parse().ok()?;
    // From the third field on; the number of threads is the twentieth.
    let threads = words.nth(15)?.parse().ok()?;
    Some(Row {
        pid,
        parent,
        zombie: matches!(state, "Z" | "X"),
        threads,
    })
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
