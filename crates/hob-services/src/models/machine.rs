//! The memory and the disk that this machine offers to a model.

use super::catalog::MachineRoom;
use hob_kit::home::Home;

/// Reads the size of the memory and the free space of the disk of the model folder. Blocks. What
/// cannot be read counts as nothing, so that no model is suggested that may not fit.
pub fn machine_room(home: &Home) -> MachineRoom {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    MachineRoom {
        memory_bytes: memory_bytes(&memory).unwrap_or(0),
        disk_bytes: crate::install::free_bytes(&home.models()).unwrap_or(0),
    }
}

/// The total memory in the kernel's table.
fn memory_bytes(table: &str) -> Option<u64> {
    let line = table
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1_024)
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
