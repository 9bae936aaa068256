//! Every way out of a workspace that we know, tried.

use super::*;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A workspace with a secret beside it.
struct DirFixture {
    folder: tempfile::TempDir,
}

impl DirFixture {
    fn new() -> DirFixture {
        let folder = tempfile::tempdir().expect("a folder");
        let place = DirFixture { folder };
        std::fs::create_dir_all(place.work().join("sub")).expect("makes it");
        std::fs::write(place.work().join("a.txt"), "inside").expect("writes");
        std::fs::write(place.work().join("sub/b.txt"), "below").expect("writes");
        std::fs::write(place.folder.path().join("secret"), "SECRET").expect("writes");
        place
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn open(&self, path: &str) -> Result<String, WorkspaceOpenError> {
        self.open_hiding(path, &[])
    }

    fn open_hiding(&self, path: &str, hidden: &[PathBuf]) -> Result<String, WorkspaceOpenError> {
        let work = self.work();
        let opened = open_file(work.to_str(), path, hidden)?;
        let mut text = String::new();
        let mut file = opened.file;
        file.read_to_string(&mut text).expect("reads");
        assert_eq!(opened.bytes, text.len() as u64);
        Ok(text)
    }
}

#[test]
fn files_inside_are_opened_by_any_honest_path() {
    let place = DirFixture::new();
    symlink("a.txt", place.work().join("link")).expect("links");
    symlink("../a.txt", place.work().join("sub/up")).expect("links");
    let absolute = place.work().join("a.txt").display().to_string();
    for path in [
        "a.txt",
        "./a.txt",
        "sub/../a.txt",
        "link",
        "sub/up",
        absolute.as_str(),
    ] {
        assert_eq!(place.open(path).as_deref(), Ok("inside"), "{path}");
    }
    assert_eq!(place.open("sub//b.txt").as_deref(), Ok("below"));
}

#[test]
fn nothing_leads_out() {
    let place = DirFixture::new();
    let work = place.work();
    let secret = place.folder.path().join("secret");
    symlink(&secret, work.join("absolute")).expect("links");
    symlink("../secret", work.join("relative")).expect("links");
    symlink("..", work.join("parent")).expect("links");
    symlink("/proc/self/root", work.join("root")).expect("links");
    symlink("loop", work.join("loop")).expect("links");
    let absolute = secret.display().to_string();
    let climbing = format!("{}/../secret", work.display());
    for path in [
        "../secret",
        "..",
        "sub/../../secret",
        absolute.as_str(),
        climbing.as_str(),
        "/etc/passwd",
        "/",
        "absolute",
        "relative",
        "parent/secret",
        "root/etc/passwd",
        "loop",
        "/proc/self/fd/0",
        "/proc/self/environ",
    ] {
        let refused = place.open(path).expect_err(path);
        assert!(
            matches!(refused, WorkspaceOpenError::Outside(_)),
            "{path}: {refused}"
        );
    }
    for path in [
        "~/secret",
        "..%2fsecret",
        "..\u{2215}secret",
        "sub\\..\\..\\secret",
    ] {
        let refused = place.open(path).expect_err(path);
        assert!(
            matches!(refused, WorkspaceOpenError::Missing(_)),
            "{path}: {refused}"
        );
    }
}

#[test]
fn magic_links_of_a_workspace_in_proc_are_refused() {
    let inside = open_file(Some("/proc/self"), "fd/0", &[]);
    let refused = inside.expect_err("is refused");
    assert!(
        matches!(refused, WorkspaceOpenError::Outside(_)),
        "{refused}"
    );
}

#[test]
fn what_is_no_file_is_not_opened() {
    let place = DirFixture::new();
    let pipe = place.work().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(place.work().join("socket"));
    let special = |path: &str| match place.open(path) {
        Err(WorkspaceOpenError::Special(_, kind)) => kind,
        other => panic!("{path}: {other:?}"),
    };
    // A pipe without a writer would block whoever opens it.
    assert_eq!(special("pipe"), "a pipe");
    assert_eq!(special("socket"), "a socket");
    assert_eq!(
        place.open("sub"),
        Err(WorkspaceOpenError::Folder("sub".to_owned()))
    );
    let device = open_file(Some("/dev"), "zero", &[]).expect_err("is refused");
    assert!(
        matches!(device, WorkspaceOpenError::Special(_, "a device")),
        "{device}"
    );
}

#[test]
fn what_is_missing_or_no_path_is_named() {
    let place = DirFixture::new();
    assert_eq!(
        place.open("no"),
        Err(WorkspaceOpenError::Missing("no".to_owned()))
    );
    assert!(matches!(
        place.open("a.txt/b"),
        Err(WorkspaceOpenError::Missing(_))
    ));
    for path in ["", "a\0b", &"x/".repeat(3_000)] {
        assert!(matches!(
            place.open(path),
            Err(WorkspaceOpenError::NotAPath(_))
        ));
    }
    assert_eq!(
        open_file(None, "a", &[]).map(drop),
        Err(WorkspaceOpenError::NoWorkspace)
    );
    for workspace in ["relative", "/no/such/folder"] {
        let refused = open_file(Some(workspace), "a", &[]).map(drop);
        assert!(matches!(refused, Err(WorkspaceOpenError::Workspace(..))));
    }
}

#[test]
fn hobs_own_folders_are_hidden_whatever_the_workspace() {
    let place = DirFixture::new();
    let work = std::fs::canonicalize(place.work()).expect("is there");
    std::fs::create_dir(work.join("hob")).expect("makes it");
    std::fs::write(work.join("hob/owner.token"), "SECRET").expect("writes");
    symlink("hob/owner.token", work.join("innocent")).expect("links");
    let hidden = [work.join("hob")];
    for path in ["hob/owner.token", "innocent", "sub/../hob/owner.token"] {
        let refused = place.open_hiding(path, &hidden);
        assert_eq!(refused, Err(WorkspaceOpenError::Hidden(path.to_owned())));
    }
    assert_eq!(place.open_hiding("a.txt", &hidden).as_deref(), Ok("inside"));
}

/// A folder is swapped for a link to the outside, over and over, while files are opened below it.
#[test]
fn a_race_of_links_never_leads_out() {
    const TRIES: usize = 20_000;
    let place = DirFixture::new();
    let work = place.work();
    std::fs::create_dir(work.join("real")).expect("makes it");
    std::fs::write(work.join("real/secret"), "inside").expect("writes");
    symlink("..", work.join("evil")).expect("links");
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        while !swapping.load(Ordering::Relaxed) {
            let (real, evil) = (work.join("real"), work.join("evil"));
            let _ = renameat_with(CWD, &real, CWD, &evil, RenameFlags::EXCHANGE);
        }
    });
    let (mut inside, mut refused) = (0, 0);
    for _ in 0..TRIES {
        match place.open("real/secret") {
            Ok(text) => {
                assert_eq!(text, "inside", "the race led out");
                inside += 1;
            }
            Err(_) => refused += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("ends");
    assert!(
        inside > 0 && refused > 0,
        "{inside} inside, {refused} refused: no race was run"
    );
}
