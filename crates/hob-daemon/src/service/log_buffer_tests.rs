//! Bounds, numbers, and the two files.

use super::*;
use hob_bus::Bus;
use hob_kit::tasks::Tasks;

fn book(folder: &Path) -> Arc<LogBook> {
    let bus = Bus::in_memory(&Tasks::new());
    let mask = Mask::new();
    mask.add("open-sesame-1234");
    let book = LogBook {
        name: "a".to_owned(),
        file: folder.join("logs/services/a.log"),
        clock: Clock::manual(1_000),
        emitter: bus.emitter("services"),
        mask,
        pages: Mutex::default(),
    };
    Arc::new(book)
}

fn pieces(texts: &[&str]) -> Vec<Piece> {
    let of = |text: &&str| Piece {
        source: Source::Stdout,
        text: (*text).to_owned(),
    };
    texts.iter().map(of).collect()
}

#[tokio::test]
async fn the_newest_lines_stay_and_missed_ones_leave_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    book.take(pieces(&["one", "two"]), 0).await;
    book.take(pieces(&["six"]), 3).await;
    let numbers = |lines: Vec<ServiceLine>| lines.iter().map(|it| it.number).collect::<Vec<_>>();
    assert_eq!(numbers(book.lines(10, 0)), [1, 2, 6]);
    assert_eq!(numbers(book.lines(2, 0)), [2, 6]);
    assert_eq!(numbers(book.lines(10, 2)), [6]);
    let many = vec!["x"; LINES_MAX + 5];
    book.take(pieces(&many), 0).await;
    let kept = book.lines(usize::MAX, 0);
    assert_eq!(kept.len(), LINES_MAX);
    assert_eq!(kept.last().unwrap().number, book.last_number());
}

#[tokio::test]
async fn a_long_line_is_cut_between_characters() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    let long = format!("a{}", "€".repeat(LINE_BYTES_MAX));
    book.take(pieces(&[&long]), 0).await;
    let line = book.lines(1, 0).remove(0).text;
    assert!(line.len() <= LINE_BYTES_MAX + '…'.len_utf8());
    assert!(line.ends_with("€…"), "{}", line.len());
}

#[tokio::test]
async fn a_secret_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    book.take(pieces(&["the password is open-sesame-1234"]), 0)
        .await;
    let shown = book.lines(1, 0).remove(0).text;
    let kept = std::fs::read_to_string(book.file()).unwrap();
    assert!(shown.starts_with("the password is"), "{shown}");
    assert!(
        !shown.contains("sesame") && !kept.contains("sesame"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_file_has_a_bound_and_one_older_generation() {
    let folder = tempfile::tempdir().unwrap();
    let book = book(folder.path());
    let line = "y".repeat(4_000);
    let batch = vec![line.as_str(); 300];
    for _ in 0..10 {
        book.take(pieces(&batch), 0).await;
    }
    let length = |path: &Path| std::fs::metadata(path).unwrap().len();
    let older = book.file().with_extension("log.1");
    assert!(length(book.file()) <= FILE_BYTES_MAX);
    assert!(length(&older) <= FILE_BYTES_MAX);
    let files = std::fs::read_dir(book.file().parent().unwrap()).unwrap();
    assert_eq!(files.count(), 2);
}

#[test]
fn events_are_paced() {
    let mut pages = Pages::default();
    let told = |pages: &mut Pages, now_ms: u64| {
        let asked = (0..1_000).filter(|_| pages.may_tell(now_ms));
        asked.count()
    };
    assert_eq!(told(&mut pages, 5_000), PACE_LINES as usize);
    assert_eq!(told(&mut pages, 5_500), 0);
    assert_eq!(told(&mut pages, 6_000), PACE_LINES as usize);
}
