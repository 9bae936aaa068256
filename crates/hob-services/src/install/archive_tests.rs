//! Archives as they should be, and as someone who means harm would make them.

use super::*;
use std::io::Cursor;
use zip::write::SimpleFileOptions;

type Zip = zip::ZipWriter<Cursor<Vec<u8>>>;

fn wheel(fill: impl FnOnce(&mut Zip)) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    fill(&mut writer);
    writer.finish().unwrap().into_inner()
}

fn file(zip: &mut Zip, name: &str, content: &[u8]) {
    zip.start_file(name, SimpleFileOptions::default()).unwrap();
    zip.write_all(content).unwrap();
}

struct Entry<'e> {
    name: &'e str,
    kind: tar::EntryType,
    mode: u32,
    content: &'e [u8],
}

/// A tarball whose names are written as they are, which the usual writer refuses.
fn tarball(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_size(entry.content.len() as u64);
        if entry.kind.is_symlink() || entry.kind.is_hard_link() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, entry.content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn plain<'e>(name: &'e str, content: &'e [u8]) -> Entry<'e> {
    let kind = tar::EntryType::Regular;
    Entry {
        name,
        kind,
        mode: 0o644,
        content,
    }
}

/// Unpacks into `out` below the folder it gives back.
fn unpacked(
    bytes: &[u8],
    archive: ArchiveKind,
    bytes_max: u64,
) -> (tempfile::TempDir, Result<(), InstallError>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.archive");
    std::fs::write(&file, bytes).unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let done = unpack(&file, archive, &out, bytes_max, &CancellationToken::new());
    (folder, done)
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_wheel_is_taken_apart() {
    let bytes = wheel(|zip| {
        zip.add_directory("pack/", SimpleFileOptions::default())
            .unwrap();
        file(zip, "pack/__init__.py", b"print()");
        file(zip, "pack-1.dist-info/METADATA", b"Name: pack");
    });
    let (folder, done) = unpacked(&bytes, ArchiveKind::Wheel, 17);
    done.unwrap();
    let out = folder.path().join("out");
    assert_eq!(
        std::fs::read(out.join("pack/__init__.py")).unwrap(),
        b"print()"
    );
    assert_eq!(mode(&out.join("pack")), 0o700);
    assert_eq!(mode(&out.join("pack-1.dist-info/METADATA")), 0o600);
}

#[test]
fn a_tarball_is_taken_apart_without_its_root_and_keeps_what_is_a_program() {
    let program = Entry {
        mode: 0o755,
        ..plain("package/bin/run", b"#!/bin/sh")
    };
    let bytes = tarball(&[plain("package/package.json", b"{}"), program]);
    let (folder, done) = unpacked(&bytes, ArchiveKind::Tarball, 11);
    done.unwrap();
    let out = folder.path().join("out");
    assert_eq!(std::fs::read(out.join("package.json")).unwrap(), b"{}");
    assert_eq!(mode(&out.join("bin/run")), 0o700);
}

#[test]
fn a_wheel_that_leads_elsewhere_is_refused_and_writes_nothing_there() {
    for name in [
        "../evil",
        "a/../../evil",
        "/tmp/evil-of-hob",
        "a/./evil",
        "a\\..\\evil",
        "",
    ] {
        let bytes = wheel(|zip| file(zip, name, b"evil"));
        let (folder, done) = unpacked(&bytes, ArchiveKind::Wheel, 1_000);
        let error = done.expect_err(name);
        assert!(matches!(error, InstallError::Archive { .. }), "{error}");
        assert!(!folder.path().join("evil").exists());
        assert!(!Path::new("/tmp/evil-of-hob").exists());
    }
}

#[test]
fn a_link_in_an_archive_is_refused() {
    let bytes = wheel(|zip| {
        zip.add_symlink("link", "/etc", SimpleFileOptions::default())
            .unwrap();
        file(zip, "link/passwd", b"evil");
    });
    let (_folder, done) = unpacked(&bytes, ArchiveKind::Wheel, 1_000);
    assert!(done.unwrap_err().to_string().contains("is a link"));
    for kind in [tar::EntryType::Symlink, tar::EntryType::Link] {
        let link = Entry {
            kind,
            ..plain("package/link", b"")
        };
        let (folder, done) = unpacked(&tarball(&[link]), ArchiveKind::Tarball, 1_000);
        let said = done.unwrap_err().to_string();
        assert!(said.contains("neither a file nor a folder"), "{said}");
        assert!(!folder.path().join("out/link").is_symlink());
    }
}

#[test]
fn a_tarball_that_leads_elsewhere_is_refused() {
    for name in [
        "evil",
        "package/../../evil",
        "/etc/evil-of-hob",
        "packages/x",
    ] {
        let (folder, done) = unpacked(
            &tarball(&[plain(name, b"evil")]),
            ArchiveKind::Tarball,
            1_000,
        );
        assert!(done.is_err(), "{name}");
        assert!(!folder.path().join("evil").exists());
        assert!(!Path::new("/etc/evil-of-hob").exists());
    }
}

#[test]
fn more_than_was_said_does_not_come_out() {
    // A megabyte of nothing packs into a kilobyte.
    let zeros = vec![0; 1_000_000];
    let bytes = wheel(|zip| file(zip, "zeros", &zeros));
    assert!(bytes.len() < 10_000);
    let (folder, done) = unpacked(&bytes, ArchiveKind::Wheel, 999_999);
    let said = done.unwrap_err().to_string();
    assert!(
        said.contains("it unpacks to more bytes than expected"),
        "{said}"
    );
    let written = std::fs::metadata(folder.path().join("out/zeros")).unwrap();
    assert!(written.len() < 1_000_000);
    let bytes = tarball(&[plain("package/zeros", &zeros)]);
    let (_folder, done) = unpacked(&bytes, ArchiveKind::Tarball, 999_999);
    assert!(done.is_err());
}

#[test]
fn a_name_that_comes_twice_is_refused() {
    let bytes = tarball(&[plain("package/a", b"1"), plain("package/a", b"2")]);
    let (_folder, done) = unpacked(&bytes, ArchiveKind::Tarball, 1_000);
    assert!(done.unwrap_err().to_string().contains("twice"));
}

#[test]
fn what_is_no_archive_or_is_cut_short_is_refused() {
    let whole = wheel(|zip| file(zip, "a", &[7; 4_096]));
    let packed = tarball(&[plain("package/a", &[7; 4_096])]);
    let (wheels, tarballs) = (ArchiveKind::Wheel, ArchiveKind::Tarball);
    for (bytes, archive) in [
        (&b"no archive"[..], wheels),
        (b"no archive", tarballs),
        (&whole[..whole.len() / 2], wheels),
        (&packed[..packed.len() / 2], tarballs),
    ] {
        let (_folder, done) = unpacked(bytes, archive, 10_000);
        assert!(matches!(done, Err(InstallError::Archive { .. })));
    }
}

#[test]
fn a_stop_ends_it() {
    let bytes = wheel(|zip| file(zip, "a", b"1"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.whl");
    std::fs::write(&file, bytes).unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let done = unpack(&file, ArchiveKind::Wheel, folder.path(), 10, &stop);
    assert_eq!(done, Err(InstallError::Stopped));
}
