//! What the house does by itself, on a line.

use super::*;

#[test]
fn loops_and_the_next_job_are_told_where_there_are_any() {
    let screen = Screen::plain(1_794_778_625_000);
    assert_eq!(Duties::default().line(&screen), None);
    let duties = Duties {
        loops_running: 1,
        jobs: 5,
        next: Some(("tidy".to_owned(), screen.now_ms + 185_000)),
    };
    let line = duties.line(&screen).expect("a line");
    assert_eq!(line, "Works     1 running loop, 5 jobs, next tidy in 3 min");
    let mut fields = serde_json::Map::new();
    duties.add_to(&mut fields);
    assert_eq!(fields["nextJob"]["name"], "tidy");
}
