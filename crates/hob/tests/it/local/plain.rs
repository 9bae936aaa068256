//! Plain words where only the demo model is there. It uses no tools, so nothing is asked and nothing
//! runs.

use super::{builder, rpc};
use serde_json::json;

#[test]
fn plain_words_are_refused_by_the_demo_and_run_nothing() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    for words in ["what does `rm -rf` do?", "what's my uptime?"] {
        let refused = house.hob(&[words]);
        assert_eq!(refused.code, Some(6), "{refused:?}");
        assert_eq!(refused.stdout, "");
        assert!(refused.stderr.contains("hob onboard"), "{refused:?}");
    }
    let typed = rpc(&house, "terminal.history", &json!({}));
    assert_eq!(typed["commands"], json!([]), "{typed}");
    let listed = rpc(&house, "terminal.list", &json!({}));
    assert_eq!(listed["terminals"], json!([]), "{listed}");
    // The same words as a question are answered.
    let said = house.hob(&["ask", "What does the command ls do?"]);
    assert!(matches!(said.code, Some(0 | 8)), "{said:?}");
    assert!(!said.stdout.trim().is_empty(), "{said:?}");
}

#[test]
fn what_a_job_may_do_is_refused_for_the_demo() {
    let house = builder().start();
    house.hob(&["service", "install", "llm", "--yes"]).success();
    let job = ["cron", "add", "tidy", "--every", "1h", "--task", "Tidy"];
    let refused = house.hob(&[&job[..], &["--allow", "move path=inbox"]].concat());
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(refused.stderr.contains("hob onboard"), "{refused:?}");
    house.hob(&job).success();
    let refused = house.shell("hob loop create diary --task Write --allow write");
    assert_eq!(refused.code, Some(6), "{refused:?}");
    // A file beyond the window is refused, too; one that fits is read.
    let long = "many words ".repeat(3_000);
    let refused = house.hob_with_input(&["ask", "summarise"], &long);
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(refused.stderr.contains("reads at most"), "{refused:?}");
}
