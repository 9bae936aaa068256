//! Pins, and what the names of blobs may be.

use super::{BlobHash, BlobStore};
use std::sync::Arc;

fn blobs(folder: &tempfile::TempDir) -> Arc<BlobStore> {
    Arc::new(BlobStore::new(&folder.path().join("hob.db"), 1))
}

#[test]
fn a_name_is_read_back_and_nothing_else_is_one() {
    let hash = BlobHash::of(b"hello");
    let name = hash.to_hex();
    assert_eq!(
        name,
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    );
    assert_eq!(BlobHash::parse(&name), Some(hash));
    for other in [
        "",
        "2cf2",
        &name.to_uppercase(),
        &name.replace('2', "+"),
        &"é".repeat(32),
    ] {
        assert_eq!(BlobHash::parse(other), None, "{other}");
    }
}

#[tokio::test]
async fn a_pinned_blob_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = blobs(&folder);
    let first = blobs.put(b"bytes".to_vec()).await.unwrap();
    let second = blobs.put(b"bytes".to_vec()).await.unwrap();
    let hash = first.hash;
    assert_eq!(second.hash, hash);
    for pin in [first, second] {
        blobs.remove(hash);
        assert_eq!(blobs.read(hash).unwrap(), b"bytes");
        drop(pin);
    }
    blobs.remove(hash);
    blobs.read(hash).unwrap_err();
    blobs.remove(hash);
    let again = blobs.put(b"bytes".to_vec()).await.unwrap();
    assert_eq!(blobs.read(again.hash).unwrap(), b"bytes");
}

#[tokio::test]
async fn a_damaged_blob_is_made_whole_by_writing_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = blobs(&folder);
    let pin = blobs.put(b"bytes".to_vec()).await.unwrap();
    std::fs::write(blobs.path(pin.hash), "rot").unwrap();
    blobs.read(pin.hash).unwrap_err();
    blobs.put(b"bytes".to_vec()).await.unwrap();
    assert_eq!(blobs.read(pin.hash).unwrap(), b"bytes");
}

#[tokio::test]
async fn a_blob_is_private_and_leaves_no_draft() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let blobs = blobs(&folder);
    let pin = blobs.put(vec![7; 100_000]).await.unwrap();
    let made: Vec<_> = std::fs::read_dir(folder.path().join("blobs"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .collect();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].file_name().to_string_lossy(), pin.hash.to_hex());
    assert_eq!(
        made[0].metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
}
