//! The files on the disk: records, links, names, deletion.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

fn folder() -> (tempfile::TempDir, ModelFolder) {
    let home = tempfile::tempdir().unwrap();
    let folder = ModelFolder::new(&Home::at(home.path()));
    (home, folder)
}

fn record(path: &str) -> ModelRecord {
    ModelRecord {
        source: "hf:o/r".to_owned(),
        repository: "o/r".to_owned(),
        revision: "main".to_owned(),
        path: path.to_owned(),
        bytes: 10,
        sha256: "ab".repeat(32),
        licence: Some("mit".to_owned()),
        tools: None,
        complete: false,
        safe_bytes: 0,
        failure: None,
    }
}

#[test]
fn a_part_becomes_the_file_and_is_listed_and_deleted() {
    let (_home, folder) = folder();
    let place = folder.place("m").unwrap();
    let mut record = record("sub/m.gguf");
    place.prepare().unwrap();
    place.write(&record).unwrap();
    let part = place.part(&record);
    assert_eq!(part, folder.root().join("m/m.gguf.part"));
    fs::write(&part, b"0123456").unwrap();
    record.safe_bytes = 5;
    assert_eq!(place.bytes_done(&record), 5, "only what was noted");
    record.safe_bytes = 99;
    assert_eq!(place.bytes_done(&record), 7, "only what is there");
    assert!(!place.is_complete(&record));
    fs::write(&part, b"0123456789").unwrap();
    place.finish(&mut record).unwrap();
    assert!(place.is_complete(&record));
    let (found, problems) = folder.list();
    assert_eq!(
        (found, problems),
        (vec![(place.clone(), record.clone())], vec![])
    );
    let file = place.file(&record);
    assert_eq!(folder.name_of(&file).as_deref(), Some("m"));
    assert_eq!(folder.name_of(Path::new("/elsewhere/m/m.gguf")), None);
    // A file of another length is not the one that was verified.
    fs::write(&file, b"012").unwrap();
    assert!(!place.is_complete(&record));
    assert!(place.delete().unwrap() > 0);
    assert_eq!(folder.list(), (vec![], vec![]));
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let (_home, folder) = folder();
    for name in [
        "..", ".", "", "a/b", "/etc", "a\0b", ".hidden", "-rf", "a b",
    ] {
        assert!(folder.place(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let (home, folder) = folder();
    let other = home.path().join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("precious"), b"x").unwrap();
    fs::create_dir_all(folder.root()).unwrap();
    symlink(&other, folder.root().join("m")).unwrap();
    let place = folder.place("m").unwrap();
    assert!(matches!(place.prepare(), Err(PullError::Conflict(_))));
    assert!(matches!(place.read(), Err(PullError::Conflict(_))));
    let (found, problems) = folder.list();
    assert!(found.is_empty() && problems.len() == 1, "{problems:?}");
    assert_eq!(place.delete().unwrap(), 0);
    assert!(other.join("precious").exists(), "only the link is gone");
    assert!(!folder.root().join("m").exists());
}

#[test]
fn the_folder_of_all_models_may_be_a_link_to_a_larger_disk() {
    let (home, folder) = folder();
    let disk = home.path().join("disk");
    fs::create_dir_all(&disk).unwrap();
    symlink(&disk, folder.root()).unwrap();
    let place = folder.place("m").unwrap();
    place.prepare().unwrap();
    place.write(&record("m.gguf")).unwrap();
    assert!(disk.join("m/model.json").exists());
    assert_eq!(folder.list().0.len(), 1);
}

#[test]
fn a_folder_that_others_can_write_or_a_broken_record_is_named() {
    let (_home, folder) = folder();
    let place = folder.place("open").unwrap();
    place.prepare().unwrap();
    place.write(&record("m.gguf")).unwrap();
    let open = folder.root().join("open");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(place.read(), Err(PullError::Conflict(_))));
    let broken = folder.place("broken").unwrap();
    broken.prepare().unwrap();
    fs::write(folder.root().join("broken/model.json"), b"{").unwrap();
    let said = broken.read().unwrap_err().to_string();
    assert!(said.contains("hob model delete broken"), "{said}");
    // A record must not lead out of the folder either.
    broken.write(&record("../../x.gguf")).unwrap();
    assert!(broken.read().is_err());
    fs::create_dir_all(folder.root().join("stray")).unwrap();
    let (found, problems) = folder.list();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(problems.len(), 3, "{problems:?}");
}
