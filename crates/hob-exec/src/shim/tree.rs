//! The descendants of the shim. The shim is a subreaper: a process whose parent ended becomes its
//! child, in whatever session or group it is. Walking down from the shim therefore finds all.
//!
//! Invariant: `kill_all` returns when no descendant is alive, or reports that some are.

use rustix::process::{Pid, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Passes that only stop processes, so that a fork bomb freezes before it is killed.
const FREEZE_PASSES: usize = 64;
/// The time limit of killing. A process that is still there hangs in the kernel.
const KILL_TIME_MAX: Duration = Duration::from_secs(5);
const KILL_PAUSE: Duration = Duration::from_millis(2);

/// One process in `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessRow {
    pid: i32,
    parent: i32,
    zombie: bool,
    threads: u64,
}

/// Lists the living descendants of this process.
pub(super) fn descendants() -> Vec<i32> {
    let rows = read_process_table();
    descendants_of(rustix::process::getpid().as_raw_nonzero().get(), &rows)
        .into_iter()
        .map(|row| row.pid)
        .collect()
}

/// Counts the processes and threads below this process.
pub(super) fn count_tasks() -> u64 {
    let rows = read_process_table();
    let found = descendants_of(rustix::process::getpid().as_raw_nonzero().get(), &rows);
    found.iter().map(|row| row.threads).sum()
}

/// Counts the processes and threads of this user on the whole machine.
pub(super) fn count_user_tasks() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid().as_raw();
    let ours = |row: &&ProcessRow| {
        std::fs::metadata(format!("/proc/{}", row.pid)).is_ok_and(|found| found.uid() == user)
    };
    let rows = read_process_table();
    rows.iter().filter(ours).map(|row| row.threads).sum()
}

/// Sends a signal to each process; one that is already gone is no error.
pub(super) fn signal(pids: &[i32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills every descendant. `reap` reaps the dead between passes. False if some could not be killed.
pub(super) fn kill_all(mut reap: impl FnMut()) -> bool {
    // Stopped processes cannot fork, so the set becomes complete before the first kill. Killing
    // them one by one would let the others fork replacements.
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
    let started_at = Instant::now();
    loop {
        let found = descendants();
        signal(&found, Signal::KILL);
        reap();
        if found.is_empty() {
            return true;
        }
        if started_at.elapsed() > KILL_TIME_MAX {
            return false;
        }
        std::thread::sleep(KILL_PAUSE);
    }
}

fn descendants_of(root: i32, rows: &[ProcessRow]) -> Vec<ProcessRow> {
    let mut children: BTreeMap<i32, Vec<ProcessRow>> = BTreeMap::new();
    for row in rows {
        children.entry(row.parent).or_default().push(*row);
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        // Removed from the map, so that a table that changed while it was read cannot form a loop.
        for row in children.remove(&parent).unwrap_or_default() {
            parents.push(row.pid);
            if !row.zombie {
                found.push(row);
            }
        }
    }
    found
}

fn read_process_table() -> Vec<ProcessRow> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            // A process that ended since the folder was listed has no `stat` any more and is left
            // out.
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            parse_stat(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
        })
        .collect()
}

/// Parses `/proc/PID/stat`. The program name in parentheses may contain anything, so the fields are
/// read after the last parenthesis.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<ProcessRow> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut words = rest.split_ascii_whitespace();
    let state = words.next()?;
    let parent = words.next()?.parse().ok()?;
    // The first word is field 3 of proc(5); the number of threads is field 20.
    let threads = words.nth(15)?.parse().ok()?;
    Some(ProcessRow {
        pid,
        parent,
        zombie: matches!(state, "Z" | "X"),
        threads,
    })
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
