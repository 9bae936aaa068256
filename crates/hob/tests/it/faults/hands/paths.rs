//! Fault 64: paths that lead out of the workspace, in every spelling, to every file tool.

use super::tools::{CANARY, Tools};
use crate::faults::trial::Trial;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn f64_paths_that_lead_out() {
    let trial = Trial::begin(64);
    let mut tools = Tools::lay_out();
    lay_traps(&tools);
    let paths = spellings(&tools);
    let mut tries = 0;
    let mut escapes = Vec::new();
    for path in &paths {
        for (tool, args) in attacks(path) {
            fs::write(tools.workspace.join("mine.txt"), "mine").expect("a file");
            let said = tools.call(tool, &args);
            tries += 1;
            let seen = said.text.contains(CANARY) || said.text.contains("root:x:");
            // A strange name may be one inside the workspace, and then be written.
            let read = !said.failed && matches!(tool, "read" | "list" | "grep" | "edit");
            if seen || read || !is_whole(&tools) {
                escapes.push(format!("{tool} {args}: {}", said.text));
            }
        }
    }
    assert!(escapes.is_empty(), "{escapes:#?}");
    controls(&mut tools);
    trial.figure("tries", tries);
    trial.figure("escapes", escapes.len());
}

/// Links inside the workspace that lead out of it, and things that are no files.
fn lay_traps(tools: &Tools) {
    let work = &tools.workspace;
    symlink(tools.outside.join("secret.txt"), work.join("link.txt")).expect("a link");
    symlink("../outside", work.join("door")).expect("a link");
    symlink("/proc/self", work.join("self")).expect("a link");
    symlink("/dev/zero", work.join("zero")).expect("a link");
    fs::create_dir(work.join("deep")).expect("a folder");
    symlink("../..", work.join("deep/up")).expect("a link");
    let pipe = rustix::fs::mknodat(
        rustix::fs::CWD,
        work.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    );
    pipe.expect("a pipe");
}

fn spellings(tools: &Tools) -> Vec<String> {
    let outside = tools.outside.join("secret.txt").display().to_string();
    let work = tools.workspace.display().to_string();
    let home = tools.rig.home().display().to_string();
    let words = [
        "../outside/secret.txt",
        "./../outside/secret.txt",
        "deep/../../outside/secret.txt",
        "deep//..//..//outside/secret.txt",
        "..//outside/./secret.txt",
        "....//....//outside/secret.txt",
        "..\\outside\\secret.txt",
        "%2e%2e/outside/secret.txt",
        "..%2foutside%2fsecret.txt",
        "%252e%252e%252foutside%252fsecret.txt",
        "..\u{2215}outside\u{2215}secret.txt",
        "\u{ff0e}\u{ff0e}/outside/secret.txt",
        "\u{2024}\u{2024}/outside/secret.txt",
        "..\u{2044}outside\u{2044}secret.txt",
        "~/outside/secret.txt",
        "~root/.profile",
        "$HOME/secret.txt",
        "${PWD}/../outside/secret.txt",
        "file:///etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/etc/./passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/../etc/passwd",
        "/proc/self/fd/0",
        "/dev/stdin",
        "/dev/fd/0",
        "/dev/zero",
        "/dev/mem",
        "link.txt",
        "door/secret.txt",
        "deep/up/outside/secret.txt",
        "self/environ",
        "self/root/etc/passwd",
        "zero",
        "pipe",
        "../outside/secret.txt\0.png",
        "",
        " ../outside/secret.txt",
        "../outside/secret.txt ",
    ];
    let mut all: Vec<String> = words.iter().map(ToString::to_string).collect();
    all.push(outside.clone());
    all.push(format!("{work}/../outside/secret.txt"));
    all.push(format!("{work}-elsewhere/secret.txt"));
    all.push(format!("{work}/{outside}"));
    all.push(format!("{home}/config.toml"));
    all.push(format!("{home}/owner.token"));
    all.push("a/".repeat(3_000) + "x");
    all
}

/// Whether everything outside is as it was.
fn is_whole(tools: &Tools) -> bool {
    let names = fs::read_dir(&tools.outside).expect("a folder").count();
    let secret = fs::read_to_string(tools.outside.join("secret.txt"));
    let has_token = tools.rig.home().join("owner.token").exists();
    names == 1 && has_token && secret.is_ok_and(|text| text == CANARY)
}

/// The file tools, each with this path where it would do harm. What changes something is tried only
/// on what the test owns: a broken build must not cost the machine its own files.
fn attacks(path: &str) -> Vec<(&'static str, Value)> {
    let mut attacks = vec![
        ("read", json!({ "path": path })),
        ("list", json!({ "path": path })),
        ("grep", json!({ "pattern": "canary|root", "path": path })),
    ];
    let is_ours = ["outside", "link.txt", "door"]
        .iter()
        .any(|name| path.contains(name));
    if is_ours {
        attacks.extend([
            (
                "edit",
                json!({ "path": path, "oldText": "canary", "newText": "mine" }),
            ),
            ("write", json!({ "path": path, "content": "mine" })),
            ("move", json!({ "from": "mine.txt", "to": path })),
            ("move", json!({ "from": path, "to": "taken.txt" })),
            ("remove", json!({ "path": path, "recursive": true })),
        ]);
    }
    attacks
}

/// The same acts inside the workspace work.
fn controls(tools: &mut Tools) {
    let said = tools.call("read", &json!({ "path": "deep/../inside.txt" }));
    assert!(said.text.contains("inside words"), "{said:?}");
    let absolute = tools.workspace.join("inside.txt");
    for (tool, args) in [
        ("read", json!({ "path": absolute })),
        ("list", json!({ "path": "." })),
        ("grep", json!({ "pattern": "words" })),
        ("write", json!({ "path": "new/file.txt", "content": "one" })),
        (
            "edit",
            json!({ "path": "new/file.txt", "oldText": "one", "newText": "two" }),
        ),
        (
            "move",
            json!({ "from": "new/file.txt", "to": "new/name.txt" }),
        ),
        ("remove", json!({ "path": "new/name.txt" })),
    ] {
        let said = tools.call(tool, &args);
        assert!(!said.failed, "{tool} {args}: {said:?}");
    }
}
