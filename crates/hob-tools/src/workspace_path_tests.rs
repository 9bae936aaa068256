//! Faults 64, 65 and 67: no path, link or race leads a changing tool out of the workspace or into
//! what is protected.

use super::WorkspacePath;
use crate::atomic_write;
use crate::entries;
use crate::trial::TestWorkspace;
use hob_wire::work::Tier;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// Tries of the race, all tools together.
const TRIES: usize = 100_000;

/// Every way of writing down a place that is not in the workspace.
fn ways_out(trial: &TestWorkspace) -> Vec<String> {
    let outside = trial.outside("x").display().to_string();
    let mut ways: Vec<String> = [
        "../outside/x",
        "a/../../outside/x",
        "./../outside/x",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "..",
        "out/x",
        "out",
        "loop/x",
        "file_out",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/x",
        "/proc/self/fd/0",
        "/dev/null",
        "\0",
        "a\0b",
        "",
        "../home/hob.db",
        "home_link/hob.db",
    ]
    .map(str::to_owned)
    .into();
    ways.push(outside);
    ways.push(format!("{}/../outside/x", trial.path("").display()));
    ways.push(format!("{}2/x", trial.around.path().join("work").display()));
    ways.push("a".repeat(5_000));
    ways
}

fn furnished() -> TestWorkspace {
    let trial = TestWorkspace::new();
    trial.put("a/keep.txt", "inside");
    std::fs::write(trial.outside("x"), "SECRET").unwrap();
    std::fs::write(trial.around.path().join("home/hob.db"), "SECRET").unwrap();
    let link = |to: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(to, trial.path(name)).unwrap();
    };
    link(&trial.outside(""), "out");
    link(&trial.outside("x"), "file_out");
    link(&trial.around.path().join("home"), "home_link");
    link(&trial.path("loop"), "loop");
    trial
}

fn arguments(tool: &str, path: &str) -> Vec<Value> {
    match tool {
        "write" => vec![json!({ "path": path, "content": "EVIL" })],
        "edit" => vec![json!({ "path": path, "oldText": "SECRET", "newText": "EVIL" })],
        "remove" => vec![json!({ "path": path, "recursive": true })],
        "move" => vec![
            json!({ "from": path, "to": "a/stolen" }),
            json!({ "from": "a/keep.txt", "to": path }),
        ],
        "glob" => vec![json!({ "pattern": "*", "path": path })],
        "grep" => vec![json!({ "pattern": ".", "path": path })],
        _ => vec![json!({ "path": path })],
    }
}

fn file_tools() -> Vec<String> {
    let specs = entries().iter().map(|entry| (entry.spec)());
    let with_paths = specs.filter(|spec| !spec.needs.is_empty());
    with_paths.map(|spec| spec.name).collect()
}

#[tokio::test]
async fn no_tool_leaves_the_workspace() {
    let trial = furnished();
    let (outside, home) = (trial.snapshot("outside"), trial.snapshot("home"));
    assert!(file_tools().len() >= 8);
    for tool in file_tools() {
        for path in ways_out(&trial) {
            for args in arguments(&tool, &path) {
                let (words, is_error) = trial.say(&tool, args.clone()).await;
                // A link itself may be taken away or renamed; what it leads to is another matter.
                let of_link = ["remove", "move"].contains(&tool.as_str());
                if of_link && !is_error {
                    let trial_again = furnished();
                    let name = path.as_str();
                    assert!(
                        trial_again.path(name).is_symlink(),
                        "{tool} {path:?}: {words}"
                    );
                    std::os::unix::fs::symlink(trial.outside(""), trial.path(name)).unwrap();
                    let _ = std::fs::remove_file(trial.path("a/stolen"));
                } else {
                    assert!(is_error, "{tool} {path:?}: {words}");
                }
                assert!(!words.contains("SECRET"), "{tool} {path:?}: {words}");
                assert_eq!(trial.snapshot("outside"), outside, "{tool} {path:?}");
                assert_eq!(trial.snapshot("home"), home, "{tool} {path:?}");
            }
        }
    }
    assert_eq!(trial.get("a/keep.txt").as_deref(), Some("inside"));
}

#[tokio::test]
async fn names_that_only_look_like_a_way_out_stay_inside() {
    let trial = furnished();
    let outside = trial.snapshot("outside");
    for path in [
        "~/x",
        "%2e%2e/outside/x",
        "..\u{2215}outside",
        "...",
        "a/..b",
        "\u{ff0e}\u{ff0e}/x",
    ] {
        let (words, is_error) = trial
            .say("write", json!({ "path": path, "content": "x" }))
            .await;
        assert!(!is_error, "{path}: {words}");
        assert_eq!(trial.get(path).as_deref(), Some("x"), "{path}");
    }
    assert_eq!(trial.snapshot("outside"), outside);
}

#[tokio::test]
async fn protected_places_are_never_changed() {
    let trial = TestWorkspace::new();
    let places = [
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".bashrc",
        ".zshenv",
        ".config/autostart/x.desktop",
        ".config/systemd/user/x.service",
        ".ssh/authorized_keys",
    ];
    for place in places {
        trial.put(place, "SECRET");
    }
    trial.put("a/keep.txt", "inside");
    std::os::unix::fs::symlink(trial.path(".git"), trial.path("harmless")).unwrap();
    std::os::unix::fs::symlink(".git", trial.path("relative")).unwrap();
    let before = trial.snapshot("work");
    let linked = [
        "harmless/config",
        "relative/hooks/new",
        ".GIT/config",
        ".git/new",
        ".git",
    ];
    let mut tried = 0;
    for tool in ["write", "edit", "move", "remove"] {
        assert!((crate::trial::entry(tool).spec)().tier >= Tier::Write);
        for place in places.iter().chain(&linked) {
            for args in arguments(tool, place) {
                let (words, is_error) = trial.say(tool, args).await;
                assert!(is_error, "{tool} {place}: {words}");
                tried += 1;
            }
        }
    }
    assert_eq!(trial.snapshot("work"), before, "{tried} tries");
    // The positive control: beside them everything goes.
    for place in [".gitignore", ".github/x.yml", ".config/app.toml"] {
        let (words, is_error) = trial
            .say("write", json!({ "path": place, "content": "x" }))
            .await;
        assert!(!is_error, "{words}");
    }
}

#[test]
fn no_race_leads_out() {
    let trial = TestWorkspace::new();
    std::fs::write(trial.outside("x"), "SECRET").unwrap();
    trial.put("swap/x", "inside");
    let (swap, real, link) = (trial.path("swap"), trial.path("real"), trial.path("link"));
    std::os::unix::fs::symlink(trial.outside(""), &link).unwrap();
    let over = AtomicBool::new(false);
    let workspace = trial.path("");
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // The folder goes and the link takes its place, then back again.
                let _ = std::fs::rename(&swap, &real);
                let _ = std::fs::rename(&link, &swap);
                let _ = std::fs::rename(&swap, &link);
                let _ = std::fs::rename(&real, &swap);
            }
        });
        for number in 0..TRIES {
            let found = WorkspacePath::resolve(workspace.to_str(), "swap/x", &trial.env);
            let done = found.and_then(|place| {
                let seen = place.read_node()?;
                assert_ne!(
                    seen.fingerprint(),
                    super::file_fingerprint(b"SECRET"),
                    "it was let out"
                );
                // Writing waits for the disk, so it is done now and then only.
                if number % 1_000 == 0 && place.missing.is_empty() {
                    return atomic_write::replace_file(&place, &seen, b"inside", 0o644);
                }
                Ok(())
            });
            *if done.is_ok() {
                &mut inside
            } else {
                &mut refused
            } += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    let outside = trial.snapshot("outside");
    assert_eq!(outside, [(trial.outside("x"), b"SECRET".to_vec())]);
    assert_eq!(inside + refused, TRIES);
    assert!(inside > 0, "some came through");
}
