//! The log file: form, bounds, rotation, live changes, failures.

use super::*;
use crate::host_environment::EnvVars;
use crate::settings::SettingsCatalog;
use std::path::Path;
use tracing_subscriber::layer::SubscriberExt;

struct Fixture {
    directory: tempfile::TempDir,
    log: DaemonLog,
}

impl Fixture {
    fn new(config: &str) -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let options = LogOptions {
            file: directory.path().join("hob.log"),
            clock: Clock::manual(1_700_000_000_000),
            mask: SecretMask::new(),
            mirror: false,
        };
        let log = DaemonLog::new(options, &settings(config));
        Fixture { directory, log }
    }

    fn logging(&self, work: impl FnOnce()) {
        let subscriber = tracing_subscriber::registry().with(self.log.layer());
        tracing::subscriber::with_default(subscriber, work);
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    fn lines(&self) -> Vec<LogLine> {
        let text = self.text("hob.log");
        let lines = text.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_str(line).expect("each line is one record"))
            .collect()
    }
}

fn settings(config: &str) -> Settings {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    Settings::load(&catalog, "config.toml", config, &EnvVars::default()).expect("loads")
}

#[test]
fn the_declarations_are_sound() {
    assert_eq!(SettingsCatalog::new(&[KEYS]).faults(), Vec::<String>::new());
}

#[test]
fn a_line_is_one_record_with_its_fields() {
    let fixture = Fixture::new("");
    fixture.logging(|| tracing::warn!(pid = 7, name = "a b", "hello {}", "there"));
    assert_eq!(
        fixture.lines(),
        [LogLine {
            at: 1_700_000_000_000,
            level: "warn".into(),
            target: module_path!().into(),
            message: "hello there pid=7 name=\"a b\"".into(),
        }]
    );
}

#[test]
fn nothing_logged_can_forge_a_line_or_drive_a_terminal() {
    let fixture = Fixture::new("");
    let attack = "x\n{\"at\":1,\"level\":\"info\"}\r\u{1b}[2J\u{9b}31m\u{202e}\0";
    fixture.logging(|| tracing::info!(header = attack, "{attack}"));
    let lines = fixture.lines();
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].message.contains("\\n{\"at\":1"),
        "{}",
        lines[0].message
    );
    assert!(
        !lines[0]
            .message
            .contains(|c: char| c.is_control() || c == '\u{202e}')
    );
}

#[test]
fn secrets_are_masked_also_at_the_cut() {
    let fixture = Fixture::new("");
    fixture.log.mask().add("a-very-secret-word");
    let token = "ab".repeat(32);
    let padding = "y".repeat(MESSAGE_BYTES_MAX - 20);
    fixture.logging(|| {
        tracing::info!(token, "known a-very-secret-word");
        tracing::info!("{padding} {token}");
    });
    let text = fixture.text("hob.log");
    assert!(!text.contains("a-very-secret-word"));
    assert!(!text.contains("abababab"), "no part of the token is left");
    assert_eq!(text.matches("[masked]").count(), 3);
}

#[test]
fn a_long_message_is_cut_and_says_so() {
    let fixture = Fixture::new("");
    fixture.logging(|| tracing::info!("{}", "ü".repeat(1_000_000)));
    let lines = fixture.lines();
    assert!(lines[0].message.len() < MESSAGE_BYTES_MAX + 64);
    assert!(lines[0].message.contains("… (cut from"));
}

#[test]
fn the_level_changes_while_running() {
    let fixture = Fixture::new("");
    fixture.logging(|| {
        let speak = || tracing::debug!("a detail");
        speak();
        fixture.log.apply(&settings("[log]\nlevel = \"debug\"\n"));
        speak();
        fixture.log.apply(&settings("[log]\nlevel = \"error\"\n"));
        speak();
        tracing::info!("not an error");
    });
    let levels: Vec<String> = fixture.lines().into_iter().map(|line| line.level).collect();
    assert_eq!(levels, ["debug"]);
}

#[test]
fn of_other_crates_only_warnings_are_kept() {
    let fixture = Fixture::new("[log]\nlevel = \"trace\"\n");
    fixture.logging(|| {
        tracing::trace!(target: "hyper::proto", "header: secret");
        tracing::warn!(target: "hyper::proto", "odd");
        tracing::trace!(target: "hob_bus::router", "routed");
    });
    let messages: Vec<String> = fixture
        .lines()
        .into_iter()
        .map(|line| line.message)
        .collect();
    assert_eq!(messages, ["odd", "routed"]);
}

#[test]
fn files_are_put_aside_by_size_and_the_oldest_removed() {
    let fixture = Fixture::new("[log]\nfile_bytes_max = 65536\nfiles_max = 3\n");
    std::fs::write(
        fixture.path().join("hob.log.7"),
        "from a time with more files",
    )
    .expect("writes");
    fixture.logging(|| {
        for number in 0..3_000 {
            tracing::info!(number, "{}", "z".repeat(100));
        }
    });
    let mut names: Vec<String> = std::fs::read_dir(fixture.path())
        .expect("is there")
        .map(|entry| {
            entry
                .expect("reads")
                .file_name()
                .into_string()
                .expect("is UTF-8")
        })
        .collect();
    names.sort();
    assert_eq!(names, ["hob.log", "hob.log.1", "hob.log.2"]);
    for name in &names {
        assert!(fixture.text(name).len() <= 65_536, "{name}");
    }
    assert!(
        fixture
            .lines()
            .last()
            .expect("has lines")
            .message
            .ends_with("number=2999")
    );
    let newest_aside = fixture.text("hob.log.1");
    let oldest_aside = fixture.text("hob.log.2");
    assert!(oldest_aside.lines().next() < newest_aside.lines().next());
}

#[test]
fn one_file_only_starts_over() {
    let fixture = Fixture::new("[log]\nfile_bytes_max = 65536\nfiles_max = 1\n");
    fixture.logging(|| (0..2_000).for_each(|_| tracing::info!("{}", "z".repeat(100))));
    assert_eq!(
        std::fs::read_dir(fixture.path()).expect("is there").count(),
        1
    );
    assert!(fixture.text("hob.log").len() <= 65_536);
}

#[test]
fn a_failing_disk_loses_lines_and_nothing_else() {
    let fixture = Fixture::new("");
    // A directory in the file's place: every open fails, as on a full disk.
    std::fs::create_dir(fixture.path().join("hob.log")).expect("makes it");
    fixture.logging(|| tracing::error!("lost"));
    assert_eq!(fixture.log.lost(), 1);
    std::fs::remove_dir(fixture.path().join("hob.log")).expect("is empty");
    fixture.logging(|| tracing::error!("kept"));
    assert_eq!(fixture.log.lost(), 1);
    assert_eq!(fixture.lines()[0].message, "kept");
}

#[test]
fn a_torn_record_does_not_swallow_the_next() {
    let fixture = Fixture::new("");
    std::fs::write(fixture.path().join("hob.log"), "{\"at\":17").expect("writes");
    fixture.logging(|| tracing::info!("whole"));
    let text = fixture.text("hob.log");
    let last: LogLine = serde_json::from_str(text.lines().last().expect("a line")).expect("whole");
    assert_eq!(last.message, "whole");
}

#[test]
fn the_hook_gets_lines_never_waits_and_can_be_quiet() {
    let fixture = Fixture::new("");
    let mut lines = fixture.log.lines().expect("is the first");
    assert!(fixture.log.lines().is_none());
    fixture.logging(|| {
        tracing::info!("first");
        without_line_hook(|| tracing::info!("quiet"));
        for number in 0..HOOK_LINES_MAX * 2 {
            tracing::info!(number, "many");
        }
    });
    assert_eq!(lines.try_recv().expect("a line").message, "first");
    assert_eq!(lines.try_recv().expect("a line").message, "many number=0");
    let waiting = std::iter::from_fn(|| lines.try_recv().ok()).count();
    assert_eq!(waiting, HOOK_LINES_MAX - 2);
    assert_eq!(
        fixture.lines().len(),
        HOOK_LINES_MAX * 2 + 2,
        "the file has them all"
    );
}
