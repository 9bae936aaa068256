//! Keeps little memory that is not used, and gives back to the system what no longer is. The
//! allocator keeps what was freed for what comes next, a pool for each thread, so that a daemon
//! would stay as large for ever as it once was: a few runs on long conversations are enough.
//!
//! Invariant: what is kept unused after a burst goes back within [`LOOK_EVERY`]; a daemon that has
//! not grown does nothing but read one small file.

use std::time::Duration;

/// How often the size of this process is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(20);
/// Growth that is worth the work, which takes some milliseconds.
const GROWTH_BYTES_MIN: u64 = 8 * 1024 * 1024;

/// Pools of the allocator. By itself it makes eight for each processor, and what is free in one
/// cannot be used in another.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const POOLS_MAX: std::ffi::c_int = 2;

/// Limits the allocator's pools. It holds for threads that are started later.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "only the C library can be told about its allocator"
)]
pub(crate) fn limit_pools() {
    // SAFETY: two numbers; no memory is touched.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, POOLS_MAX);
    }
}

/// Other allocators have no such pools.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_pools() {}

/// Looks again and again until the daemon stops.
pub(crate) async fn give_back() {
    let mut settled = resident_bytes().unwrap_or(u64::MAX);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(now) = resident_bytes() else {
            // No such file system, no way to know.
            return;
        };
        if now >= settled.saturating_add(GROWTH_BYTES_MIN) {
            // It walks the whole heap, so it is not for a thread of the runtime.
            let _ = tokio::task::spawn_blocking(trim).await;
            settled = resident_bytes().unwrap_or(now);
        }
        settled = settled.min(now);
    }
}

/// What this process has in memory.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1_024)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "only the C library knows what its allocator keeps"
)]
fn trim() {
    // SAFETY: it takes a number and touches only what the allocator itself holds as free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other allocators give back by themselves, or cannot.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
