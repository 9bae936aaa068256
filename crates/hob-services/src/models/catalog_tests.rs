//! The catalogue as data, and the choice by memory and disk.

use super::*;
use std::collections::BTreeSet;

fn names(memory_gb: u64, disk_gb: u64) -> Vec<&'static str> {
    let room = MachineRoom {
        memory_bytes: memory_gb * GB,
        disk_bytes: disk_gb * GB,
    };
    candidates(room).iter().map(|model| model.name).collect()
}

#[test]
fn every_entry_is_one_file_of_one_to_eight_gigabytes() {
    let unique: BTreeSet<_> = MODELS.iter().map(|model| model.name).collect();
    assert_eq!(unique.len(), MODELS.len());
    for model in MODELS {
        let name = model.name;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
        assert!(name.chars().all(plain), "{name}");
        assert_eq!(model.file.rsplit('.').next(), Some("gguf"), "{name}");
        assert!(
            !model.file.contains("-of-") && !model.file.contains('/'),
            "{name}"
        );
        assert_eq!(model.repository.split('/').count(), 2, "{name}");
        assert!((GB..8 * GB).contains(&model.bytes), "{name}");
        assert!(model.memory_bytes > model.bytes, "{name}");
        assert!(
            !model.licence.is_empty() && !model.about.is_empty(),
            "{name}"
        );
        assert_eq!(model.checked.len(), "2026-11-19".len(), "{name}");
        assert_eq!(find(name), Some(model));
    }
    assert_eq!(find("qwen3"), None);
}

#[test]
fn a_model_is_offered_only_if_memory_and_disk_hold_it() {
    assert_eq!(names(2, 100), Vec::<&str>::new());
    assert_eq!(names(3, 100), ["qwen2.5-1.5b"]);
    assert_eq!(names(4, 100), ["qwen2.5-1.5b", "smollm2-1.7b"]);
    assert_eq!(names(16, 2), Vec::<&str>::new());
    assert_eq!(names(16, 3), ["qwen2.5-1.5b", "smollm2-1.7b"]);
    let all = names(16, 100);
    assert_eq!(all.len(), MODELS.len());
    assert_eq!(all.first(), Some(&"qwen3-4b"));
}

#[test]
fn the_reserves_are_kept_to_the_byte() {
    let model = find("qwen3-4b").unwrap();
    let exact = MachineRoom {
        memory_bytes: model.memory_bytes + MEMORY_RESERVE_BYTES,
        disk_bytes: model.bytes + DISK_RESERVE_BYTES,
    };
    assert!(model.fits(exact));
    let memory_bytes = exact.memory_bytes - 1;
    assert!(!model.fits(MachineRoom {
        memory_bytes,
        ..exact
    }));
    let disk_bytes = exact.disk_bytes - 1;
    assert!(!model.fits(MachineRoom {
        disk_bytes,
        ..exact
    }));
}
