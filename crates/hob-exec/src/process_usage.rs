//! The processor time and memory of a process that a shim runs, with everything below that shim.
//! Reads `/proc`; blocks shortly.

use std::collections::BTreeMap;

/// The ticks of a second in `/proc/PID/stat`. Linux shows user space 100 on every machine, whatever
/// the kernel counts in.
const TICKS_A_SECOND: u64 = 100;
const TICK_MS: u64 = 1_000 / TICKS_A_SECOND;

/// What a tree of processes uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    pub processes: u32,
    /// Processor time of the living processes and of those that they waited for.
    pub cpu_ms: u64,
    /// Resident memory. Pages that processes share are counted in each of them.
    pub memory_bytes: u64,
}

/// One process in `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessTimes {
    parent: i32,
    zombie: bool,
    own_ticks: u64,
    /// Of ended processes that it waited for.
    waited_ticks: u64,
}

/// Returns the usage of each of these first processes of children, in order; `None` for one that
/// does not run.
pub fn of_children(pids: &[i32]) -> Vec<Option<ProcessUsage>> {
    let table = read_table();
    let mut below: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, times) in &table {
        below.entry(times.parent).or_default().push(*pid);
    }
    let of_child = |pid: &i32| usage_of(*pid, &table, &below);
    pids.iter().map(of_child).collect()
}

fn usage_of(
    pid: i32,
    table: &BTreeMap<i32, ProcessTimes>,
    below: &BTreeMap<i32, Vec<i32>>,
) -> Option<ProcessUsage> {
    // The shim takes in every orphan, so what is below it is all of the child.
    let shim = table.get(&pid)?.parent;
    let mut usage = ProcessUsage::default();
    let mut ticks = table.get(&shim).map_or(0, |shim| shim.waited_ticks);
    let mut parents = vec![shim];
    let mut seen = 0;
    while let Some(parent) = parents.pop() {
        // The table is not read at one moment, so reused pids could form a loop.
        seen += 1;
        if seen > table.len() + 1 {
            break;
        }
        for pid in below.get(&parent).into_iter().flatten() {
            parents.push(*pid);
            let Some(times) = table.get(pid) else {
                continue;
            };
            ticks += times.own_ticks + times.waited_ticks;
            if !times.zombie {
                usage.processes += 1;
                usage.memory_bytes += resident_bytes(*pid);
            }
        }
    }
    usage.cpu_ms = ticks.saturating_mul(TICK_MS);
    Some(usage)
}

fn read_table() -> BTreeMap<i32, ProcessTimes> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let read = entries.filter_map(|entry| {
        // A process that ended since the folder was listed is left out.
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, parse_stat(&stat)?))
    });
    read.collect()
}

/// Parses `/proc/PID/stat`. The program name in parentheses may contain anything, so the fields are
/// read after the last parenthesis.
fn parse_stat(stat: &[u8]) -> Option<ProcessTimes> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    // The first word is field 3 of proc(5); the four times are fields 14 to 17.
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let ticks = |field: usize| words.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessTimes {
        parent: words.get(1)?.parse().ok()?,
        zombie: matches!(*words.first()?, "Z" | "X"),
        own_ticks: ticks(14)? + ticks(15)?,
        waited_ticks: ticks(16)? + ticks(17)?,
    })
}

fn resident_bytes(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1_024)
}

#[cfg(test)]
#[path = "process_usage_tests.rs"]
mod tests;
