//! What is read of a folder, and what is not: links, pipes, names that lead out, large files.

use super::{SourceEntryKind, SourceFileError, SourceFolder};
use std::os::unix::fs::symlink;
use std::path::Path;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn files_below_are_read_up_to_their_bound() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a/b/note.md", "hello");
    std::fs::write(root.path().join("bytes"), [0xff, 0xfe]).unwrap();
    let folder = SourceFolder::open(root.path()).unwrap();
    assert_eq!(folder.read_text("a/b/note.md", 5).unwrap(), "hello");
    assert_eq!(
        folder.read_text("a/b/note.md", 4),
        Err(SourceFileError::TooLarge {
            bytes: 5,
            bytes_max: 4
        })
    );
    assert_eq!(folder.read_text("bytes", 10), Err(SourceFileError::NotText));
    assert_eq!(folder.find_text("a/b/none.md", 5), Ok(None));
    // A folder on the way that is a file.
    assert_eq!(folder.find_text("bytes/none.md", 5), Ok(None));
    assert_eq!(folder.read_text("a", 10), Err(SourceFileError::NotAFile));
}

#[test]
fn nothing_outside_is_read_by_any_name() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret", "outside");
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "inside", "inside");
    symlink(outside.path().join("secret"), root.path().join("file-link")).unwrap();
    symlink(outside.path(), root.path().join("folder-link")).unwrap();
    symlink(root.path().join("inside"), root.path().join("own-link")).unwrap();
    let folder = SourceFolder::open(root.path()).unwrap();
    for name in ["file-link", "folder-link/secret", "own-link"] {
        assert_eq!(
            folder.read_text(name, 100),
            Err(SourceFileError::Link),
            "{name}"
        );
    }
    assert_eq!(folder.list("folder-link"), Err(SourceFileError::Link));
    let outside = outside.path().join("secret");
    for name in [
        "../secret",
        "..",
        "",
        "a/../inside",
        outside.to_str().unwrap(),
    ] {
        let read = folder.read_text(name, 100);
        assert_eq!(read, Err(SourceFileError::Missing), "{name}");
    }
}

#[test]
fn a_pipe_does_not_hold_up_the_import() {
    let root = tempfile::tempdir().unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let path = root.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let folder = SourceFolder::open(root.path()).unwrap();
    assert_eq!(
        folder.read_text("pipe", 100),
        Err(SourceFileError::NotAFile)
    );
    assert_eq!(folder.kind("pipe"), Ok(SourceEntryKind::Other));
}

#[test]
fn a_listing_is_sorted_and_tells_links_apart() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "b/inner", "");
    write(root.path(), "a", "");
    symlink("/", root.path().join("c")).unwrap();
    let folder = SourceFolder::open(root.path()).unwrap();
    let listing = folder.list("").unwrap();
    let entries = listing
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind));
    assert_eq!(
        entries.collect::<Vec<_>>(),
        [
            ("a", SourceEntryKind::File),
            ("b", SourceEntryKind::Folder),
            ("c", SourceEntryKind::Link),
        ]
    );
    assert!(!listing.is_cut);
    assert_eq!(folder.list("none"), Err(SourceFileError::Missing));
}
