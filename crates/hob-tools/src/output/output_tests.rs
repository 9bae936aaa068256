//! Pages of what is kept, for its own session.

use crate::outcome::{TEXT_BYTES_MAX, succeeded};
use crate::stored_output::{bound_and_store, parse_output_id};
use crate::trial::{TestWorkspace, words};
use serde_json::json;

#[tokio::test]
async fn a_long_answer_is_kept_whole_and_read_in_pages() {
    let (trial, store) = TestWorkspace::with_store();
    let line = |number: usize| format!("line {number} {}\n", "x".repeat(90));
    let whole: String = (1..=10_000).map(line).collect();
    assert!(whole.len() > TEXT_BYTES_MAX);
    let mut work = trial.work("grep", json!({}));
    work.context.session_key = Some("chat:main".to_owned());
    let told = bound_and_store(succeeded(whole), "grep", &work.context, &trial.env).await;
    let id = told.metadata.as_ref().expect("is there")["outputId"].clone();
    assert!(words(&told).ends_with(&format!("id {id}.)")), "names it");
    let mut ask = trial.work("output", json!({ "id": id, "line": 5_000, "lines": 2 }));
    ask.context.session_key = Some("chat:main".to_owned());
    let page = words(&trial.execute(ask.clone()).await);
    assert!(page.starts_with(&line(5_000)), "{page}");
    assert!(
        page.ends_with("(lines 5000 to 5001; go on with line 5002)"),
        "{page}"
    );
    ask.context.session_key = Some("chat:other".to_owned());
    let refused = trial.execute(ask).await;
    assert!(refused.is_error && words(&refused).contains("no such output"));
    store.close().await;
}

#[tokio::test]
async fn a_short_answer_is_kept_nowhere() {
    let (trial, store) = TestWorkspace::with_store();
    let work = trial.work("grep", json!({}));
    let told = bound_and_store(succeeded("short"), "grep", &work.context, &trial.env).await;
    assert_eq!((words(&told).as_str(), told.metadata), ("short", None));
    for id in ["o1", "1", "x", ""] {
        let (text, failed) = trial.say("output", json!({ "id": id })).await;
        assert!(failed && text.contains("no"), "{text}");
    }
    store.close().await;
}

#[test]
fn ids_are_read_as_models_write_them() {
    assert_eq!(
        [
            parse_output_id("o12"),
            parse_output_id(" 12 "),
            parse_output_id("o"),
            parse_output_id("-")
        ],
        [Some(12), Some(12), None, None]
    );
}
