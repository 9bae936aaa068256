//! Returns unused heap memory to the system. glibc keeps freed memory in an arena per thread, so
//! without trimming a daemon stays as large as its peak; a few runs on long conversations are
//! enough.
//!
//! Invariant: memory that is unused after a burst is returned within [`LOOK_EVERY`]; a daemon that
//! has not grown only reads one small file.

use std::time::Duration;

/// The interval between two looks at the size of this process.
const LOOK_EVERY: Duration = Duration::from_secs(20);
/// The least growth that triggers a trim. Under steady load the heap grows by this much within
/// minutes, because free memory between live blocks is not reused well; a trim of a small heap takes
/// about a millisecond.
const GROWTH_BYTES_MIN: u64 = 1024 * 1024;
/// A large process must grow by this share of its size, because a trim walks the whole heap.
const GROWTH_SHARE: u64 = 32;

/// The most arenas of the allocator. The default is eight per processor, and memory that is free in
/// one arena cannot be used by another.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_MAX: std::ffi::c_int = 2;

/// Limits the allocator's arenas, for threads that start later.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "only the C library can be told about its allocator"
)]
pub(crate) fn limit_arenas() {
    // SAFETY: two numbers; no memory is touched.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, ARENAS_MAX);
    }
}

/// Other allocators have no arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_arenas() {}

/// Trims the heap whenever the process has grown, until the daemon stops.
pub(crate) async fn trim_periodically() {
    let mut settled = resident_bytes().unwrap_or(u64::MAX);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(now) = resident_bytes() else {
            // Without procfs the size is unknown.
            return;
        };
        let growth = GROWTH_BYTES_MIN.max(settled / GROWTH_SHARE);
        if now >= settled.saturating_add(growth) {
            // Trimming walks the whole heap, so it must not block a runtime thread.
            let _ = tokio::task::spawn_blocking(trim).await;
            settled = resident_bytes().unwrap_or(now);
        }
        settled = settled.min(now);
    }
}

/// The resident set size of this process.
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

/// Other allocators return memory by themselves, or cannot.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
