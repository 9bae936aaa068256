//! The kernel's table of memory.

use super::*;

#[test]
fn the_total_memory_is_read_from_the_table() {
    let table = "MemTotal:       16316412 kB\nMemFree:  1 kB\n";
    assert_eq!(memory_bytes(table), Some(16_316_412 * 1_024));
    assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
    assert_eq!(memory_bytes("MemTotal: much\n"), None);
}

#[test]
fn this_machine_has_memory_and_a_disk() {
    let home = Home::at(std::path::Path::new("/tmp/there/is/no/such/home"));
    let room = machine_room(&home);
    assert!(room.memory_bytes > 64 * 1024 * 1024, "{room:?}");
    assert!(room.disk_bytes > 0, "{room:?}");
}
