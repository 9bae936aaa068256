//! Prompt files: links, hard links, pipes and races are refused; a plain file is read.

use super::*;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SECRET: &str = "-----BEGIN PRIVATE KEY-----";

struct Rooms {
    directory: tempfile::TempDir,
    home: Home,
}

impl Rooms {
    fn new() -> Rooms {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        for folder in ["home/run", "work", "outside"] {
            std::fs::create_dir_all(root.join(folder)).expect("makes it");
        }
        std::fs::write(root.join("home/owner.token"), SECRET).expect("writes");
        std::fs::write(root.join("outside/id_rsa"), SECRET).expect("writes");
        Rooms {
            home: Home::at(&root.join("home")),
            directory,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn read(&self, folder: &str) -> Result<Option<String>, PromptFileError> {
        let folder = PromptFolder::Outside {
            folder: &self.at(folder),
            home: &self.home,
        };
        read_prompt_file(folder, "AGENTS.md", 1_000, &SecretMask::new())
    }

    fn refusal(&self, folder: &str) -> String {
        match self.read(folder) {
            Err(refused) => refused.to_string(),
            other => panic!("it is refused: {other:?}"),
        }
    }
}

#[test]
fn a_plain_file_is_read_and_a_missing_one_is_none() {
    let rooms = Rooms::new();
    assert_eq!(rooms.read("work"), Ok(None));
    assert_eq!(rooms.read("nowhere"), Ok(None));
    std::fs::write(rooms.at("work/AGENTS.md"), "Run the tests.\n").expect("writes");
    assert_eq!(rooms.read("work"), Ok(Some("Run the tests.\n".to_owned())));
    // A link on the way to the folder is the person's own.
    symlink(rooms.at("work"), rooms.at("way")).expect("links");
    assert_eq!(rooms.read("way"), Ok(Some("Run the tests.\n".to_owned())));
    let home = rooms.at("home");
    std::fs::write(home.join("persona.md"), "Be kind.").expect("writes");
    let read = read_prompt_file(
        PromptFolder::Home(&home),
        "persona.md",
        3,
        &SecretMask::new(),
    );
    assert_eq!(read, Ok(Some("Be ".to_owned())));
}

#[test]
fn no_link_is_followed() {
    let rooms = Rooms::new();
    let (outside, token) = (rooms.at("outside/id_rsa"), rooms.at("home/owner.token"));
    std::fs::write(rooms.at("work/CLAUDE.md"), "inside").expect("writes");
    symlink(&outside, rooms.at("work/first")).expect("links");
    let own = format!(
        "/proc/self/fd/{}",
        File::open(&outside).expect("opens").as_raw_fd()
    );
    for target in [
        outside.as_path(),
        &token,
        Path::new("../outside/id_rsa"),
        Path::new("../work/../home/owner.token"),
        Path::new("CLAUDE.md"),
        Path::new("first"),
        Path::new("nowhere"),
        Path::new("AGENTS.md"),
        Path::new("/proc/self/environ"),
        Path::new("/proc/self/cwd/Cargo.toml"),
        Path::new(&own),
    ] {
        let link = rooms.at("work/AGENTS.md");
        symlink(target, &link).expect("links");
        let message = rooms.refusal("work");
        assert!(
            message.starts_with("AGENTS.md is a link and was not read."),
            "{message}"
        );
        std::fs::remove_file(&link).expect("removes");
    }
    let home = rooms.at("home");
    symlink(&outside, home.join("persona.md")).expect("links");
    let read = read_prompt_file(
        PromptFolder::Home(&home),
        "persona.md",
        99,
        &SecretMask::new(),
    );
    assert_eq!(read, Err(PromptFileError::Link("persona.md".to_owned())));
}

#[test]
fn a_second_name_of_another_file_is_not_read() {
    let rooms = Rooms::new();
    for target in ["home/owner.token", "outside/id_rsa"] {
        std::fs::hard_link(rooms.at(target), rooms.at("work/AGENTS.md")).expect("links");
        let message = rooms.refusal("work");
        assert!(message.contains("hard link"), "{message}");
        std::fs::remove_file(rooms.at("work/AGENTS.md")).expect("removes");
    }
}

#[test]
fn what_is_no_file_is_told_and_never_waited_for() {
    let rooms = Rooms::new();
    let place = rooms.at("work/AGENTS.md");
    std::fs::create_dir(&place).expect("makes it");
    assert!(rooms.refusal("work").contains("is a folder, not a file"));
    std::fs::remove_dir(&place).expect("removes");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &place,
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .expect("makes it");
    // Without a writer, opening a pipe for reading would block forever.
    let (done, waited) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || done.send(rooms.refusal("work")));
    let message = waited
        .recv_timeout(Duration::from_secs(10))
        .expect("an answer");
    assert!(message.contains("is a pipe, not a file"), "{message}");
}

#[test]
fn nothing_of_hobs_home_is_read_as_a_workspace() {
    let rooms = Rooms::new();
    std::fs::create_dir_all(rooms.at("home/services/a")).expect("makes it");
    symlink(rooms.at("home"), rooms.at("alias")).expect("links");
    for folder in [
        "home",
        "home/run",
        "home/services/a",
        "alias",
        "alias/run",
        "work/../home",
    ] {
        std::fs::write(rooms.at(folder).join("AGENTS.md"), SECRET).expect("writes");
        let message = rooms.refusal(folder);
        assert!(
            message.contains("belongs to hob itself"),
            "{folder}: {message}"
        );
    }
}

#[test]
fn only_names_of_one_step_are_opened() {
    let rooms = Rooms::new();
    let home = rooms.at("home");
    for name in ["", ".", "..", "run/x", "../outside/id_rsa", "/etc/passwd"] {
        let read = open_prompt_file(PromptFolder::Home(&home), name);
        assert!(
            matches!(read, Err(PromptFileError::Unreadable(..))),
            "{name}"
        );
    }
}

#[test]
fn secrets_are_masked_and_a_cut_shows_no_half_of_one() {
    const KEY: &str = "sk-live-0123456789abcdef";
    let rooms = Rooms::new();
    let mask = SecretMask::new();
    mask.add(KEY);
    let folder = rooms.at("work");
    let read = |bytes_max| {
        let folder = PromptFolder::Outside {
            folder: &folder,
            home: &rooms.home,
        };
        read_prompt_file(folder, "AGENTS.md", bytes_max, &mask)
    };
    std::fs::write(rooms.at("work/AGENTS.md"), format!("use {KEY} here")).expect("writes");
    assert_eq!(read(1_000), Ok(Some("use [masked] here".to_owned())));
    for cut in 4..4 + KEY.len() {
        assert_eq!(read(cut), Ok(Some("use ".to_owned())), "cut at {cut}");
    }
}

/// A thread that exchanges the file for links and second names as fast as it can.
#[test]
fn a_link_swapped_in_meanwhile_never_passes() {
    let rooms = Arc::new(Rooms::new());
    let is_over = Arc::new(AtomicBool::new(false));
    let (place, spare) = (rooms.at("work/AGENTS.md"), rooms.at("work/spare"));
    let swapper = std::thread::spawn({
        let (rooms, is_over) = (Arc::clone(&rooms), Arc::clone(&is_over));
        move || {
            while !is_over.load(Ordering::Relaxed) {
                for target in ["outside/id_rsa", "home/owner.token"] {
                    let _ = std::fs::write(&spare, "plain words");
                    let _ = std::fs::rename(&spare, &place);
                    let _ = symlink(rooms.at(target), &spare);
                    let _ = std::fs::rename(&spare, &place);
                    let _ = std::fs::remove_file(&place);
                    let _ = std::fs::hard_link(rooms.at(target), &place);
                    let _ = std::fs::remove_file(&place);
                }
            }
        }
    });
    let (mut reads, mut refusals) = (0, 0);
    for _ in 0..30_000 {
        match rooms.read("work") {
            Ok(Some(text)) => {
                // A file that is still being written is empty.
                assert!(text == "plain words" || text.is_empty(), "leaked: {text}");
                reads += 1;
            }
            Ok(None) => {}
            Err(_) => refusals += 1,
        }
    }
    is_over.store(true, Ordering::Relaxed);
    swapper.join().expect("ends");
    assert!(
        reads > 0 && refusals > 0,
        "{reads} reads, {refusals} refusals"
    );
}
