//! Bounds, numbers, and the two files.

use super::*;
use hob_bus::Bus;
use hob_kit::tasks::TaskGroup;

fn log(folder: &Path) -> Arc<ServiceLogBuffer> {
    let bus = Bus::in_memory(&TaskGroup::new());
    let mask = SecretMask::new();
    mask.add("open-sesame-1234");
    let log = ServiceLogBuffer {
        name: "a".to_owned(),
        file: folder.join("logs/services/a.log"),
        clock: Clock::manual(1_000),
        emitter: bus.emitter("services"),
        mask,
        window: Mutex::default(),
    };
    Arc::new(log)
}

fn pieces(texts: &[&str]) -> Vec<OutputPiece> {
    let of = |text: &&str| OutputPiece {
        stream: ChildStream::Stdout,
        text: (*text).to_owned(),
    };
    texts.iter().map(of).collect()
}

#[tokio::test]
async fn the_newest_lines_stay_and_missed_ones_leave_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path());
    log.append_batch(pieces(&["one", "two"]), 0).await;
    log.append_batch(pieces(&["six"]), 3).await;
    let numbers = |lines: Vec<ServiceLogLine>| lines.iter().map(|it| it.number).collect::<Vec<_>>();
    assert_eq!(numbers(log.lines(10, 0)), [1, 2, 6]);
    assert_eq!(numbers(log.lines(2, 0)), [2, 6]);
    assert_eq!(numbers(log.lines(10, 2)), [6]);
    let many = vec!["x"; LINES_MAX + 5];
    log.append_batch(pieces(&many), 0).await;
    let kept = log.lines(usize::MAX, 0);
    assert_eq!(kept.len(), LINES_MAX);
    assert_eq!(kept.last().unwrap().number, log.last_number());
}

#[tokio::test]
async fn a_long_line_is_cut_between_characters() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path());
    let printed = format!("a{}", "€".repeat(LINE_BYTES_MAX));
    log.append_batch(pieces(&[&printed]), 0).await;
    let line = log.lines(1, 0).remove(0).text;
    assert!(line.len() <= LINE_BYTES_MAX + '…'.len_utf8());
    assert!(line.ends_with("€…"), "{}", line.len());
}

#[tokio::test]
async fn a_secret_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path());
    log.append_batch(pieces(&["the password is open-sesame-1234"]), 0)
        .await;
    let shown = log.lines(1, 0).remove(0).text;
    let kept = std::fs::read_to_string(log.file()).unwrap();
    assert!(shown.starts_with("the password is"), "{shown}");
    assert!(
        !shown.contains("sesame") && !kept.contains("sesame"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_file_has_a_bound_and_one_older_generation() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path());
    let line = "y".repeat(4_000);
    let batch = vec![line.as_str(); 300];
    for _ in 0..10 {
        log.append_batch(pieces(&batch), 0).await;
    }
    let length = |path: &Path| std::fs::metadata(path).unwrap().len();
    let older = log.file().with_extension("log.1");
    assert!(length(log.file()) <= FILE_BYTES_MAX);
    assert!(length(&older) <= FILE_BYTES_MAX);
    let files = std::fs::read_dir(log.file().parent().unwrap()).unwrap();
    assert_eq!(files.count(), 2);
}

#[test]
fn events_are_paced() {
    let mut window = LogWindow::default();
    let emitted = |window: &mut LogWindow, now_ms: u64| {
        let asked = (0..1_000).filter(|_| window.may_emit(now_ms));
        asked.count()
    };
    assert_eq!(emitted(&mut window, 5_000), PACE_LINES as usize);
    assert_eq!(emitted(&mut window, 5_500), 0);
    assert_eq!(emitted(&mut window, 6_000), PACE_LINES as usize);
}
