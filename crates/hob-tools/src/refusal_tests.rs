//! What can never run is refused before anybody is asked; what may run is not.

use super::refusal;
use crate::trial::{TestWorkspace, entry};
use serde_json::{Value, json};

fn refused(trial: &TestWorkspace, tool: &str, args: Value) -> Option<String> {
    let entry = entry(tool);
    let work = trial.work_of_run(tool, "c1", args);
    refusal(entry, &(entry.spec)(), &work, &trial.env)
}

#[test]
fn a_path_that_leads_out_is_refused_for_every_tool() {
    let trial = TestWorkspace::new();
    trial.put("sub/a.txt", "a");
    std::fs::write(trial.around.path().join("outside/there"), "x").unwrap();
    std::os::unix::fs::symlink(trial.around.path().join("outside"), trial.path("link")).unwrap();
    let away = trial.around.path().join("outside/there");
    let away = away.display().to_string();
    for path in [
        "../outside/there",
        "sub/../../outside",
        "link/there",
        "link/missing",
        &away,
    ] {
        let calls = [
            ("read", json!({ "path": path })),
            ("list", json!({ "path": path })),
            ("glob", json!({ "pattern": "*", "path": path })),
            ("grep", json!({ "pattern": "x", "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
            (
                "edit",
                json!({ "path": path, "oldText": "x", "newText": "y" }),
            ),
            ("move", json!({ "from": "sub/a.txt", "to": path })),
            ("remove", json!({ "path": path })),
            ("exec", json!({ "command": "true", "cwd": path })),
        ];
        for (tool, args) in calls {
            let told = refused(&trial, tool, args).unwrap_or_default();
            assert!(
                told.contains("leads out of the workspace"),
                "{tool} {path}: {told}"
            );
        }
    }
}

#[test]
fn what_lies_inside_is_not_refused_whether_it_is_there_or_not() {
    let trial = TestWorkspace::new();
    trial.put("sub/a.txt", "a");
    std::os::unix::fs::symlink("/etc/passwd", trial.path("link")).unwrap();
    for path in [
        "sub/a.txt",
        "sub/../sub/a.txt",
        "missing/b.txt",
        ".",
        "",
        "sub/a.txt/c",
    ] {
        let told = refused(&trial, "read", json!({ "path": path }));
        // An empty path is none.
        assert_eq!(told.is_some(), path.is_empty(), "{path}: {told:?}");
    }
    // The link itself lies inside and may be removed.
    assert_eq!(refused(&trial, "remove", json!({ "path": "link" })), None);
    assert_eq!(refused(&trial, "list", json!({})), None);
}

#[test]
fn the_home_of_hob_is_refused() {
    let trial = TestWorkspace::new();
    let entry = entry("read");
    let mut work = trial.work_of_run("read", "c1", json!({ "path": "home/hob.db" }));
    work.context.workspace = Some(trial.around.path().display().to_string());
    let told = refusal(entry, &(entry.spec)(), &work, &trial.env).unwrap();
    assert!(told.contains("belongs to hob itself"), "{told}");
}
