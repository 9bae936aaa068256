//! The line about running loops and jobs.

use super::*;

#[test]
fn loops_and_the_next_job_are_shown_if_there_are_any() {
    let screen = ScreenStyle::plain(1_794_778_625_000);
    assert_eq!(BackgroundWork::default().line(&screen), None);
    let work = BackgroundWork {
        loops_running: 1,
        jobs: 5,
        next: Some(("tidy".to_owned(), screen.now_ms + 185_000)),
    };
    let line = work.line(&screen).expect("a line");
    assert_eq!(line, "Works     1 running loop, 5 jobs, next tidy in 3 min");
    let mut fields = serde_json::Map::new();
    work.add_to_json(&mut fields);
    assert_eq!(fields["nextJob"]["name"], "tidy");
}
