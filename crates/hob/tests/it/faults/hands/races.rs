//! Fault 65: a folder of the workspace is swapped for a link that leads out, again and again, while
//! tools open what lies below it.

use super::tools::{CANARY, Said, Tools, call};
use crate::faults::trial::{Trial, number_from_env};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Opens in all; `HOB_RACE_OPENS` asks for more.
const OPENS: u64 = 100_000;
/// Files in the folder that is swapped: each grep opens all of them.
const FILES: u64 = 50;
const READERS: usize = 3;

#[derive(Default)]
struct Counts {
    opens: AtomicU64,
    /// Answers that hold what lies inside.
    inside: AtomicU64,
    refused: AtomicU64,
    escapes: AtomicU64,
    swaps: AtomicU64,
}

#[test]
fn f65_links_and_renames_that_race() {
    let trial = Trial::begin(65);
    let opens = number_from_env("HOB_RACE_OPENS").unwrap_or(OPENS);
    let mut tools = Tools::lay_out();
    lay_out(&tools);
    let counts = Counts::default();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&tools.workspace, &over, &counts));
        let hands: Vec<_> = (0..READERS)
            .map(|hand| {
                let (tools, counts) = (&tools, &counts);
                scope.spawn(move || work(tools, counts, opens, hand))
            })
            .collect();
        for hand in hands {
            hand.join().expect("a hand");
        }
        over.store(true, Ordering::Relaxed);
        swapper.join().expect("the swapper");
    });
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    for file in 0..FILES {
        let path = tools.outside.join(format!("{file}.txt"));
        let text = fs::read_to_string(path).expect("the file outside");
        assert_eq!(text, CANARY, "a file outside was changed");
    }
    assert_eq!(count(&counts.escapes), 0, "escapes");
    assert!(
        count(&counts.inside) > 0,
        "the race never let anything through"
    );
    assert!(count(&counts.refused) > 0, "the race was never met");
    assert!(count(&counts.swaps) > 1_000, "hardly any swaps");
    trial.figure("opens", count(&counts.opens));
    trial.figure("swaps", count(&counts.swaps));
    trial.figure("refused", count(&counts.refused));
    trial.figure("escapes", count(&counts.escapes));
    let calm = tools.call("read", &json!({ "path": "calm.txt" }));
    assert!(calm.text.contains("calm words"), "{calm:?}");
}

/// `swap` is a folder with files that say where they lie, `link` leads to as many outside.
fn lay_out(tools: &Tools) {
    let inside = tools.workspace.join("swap");
    fs::create_dir(&inside).expect("a folder");
    for file in 0..FILES {
        fs::write(inside.join(format!("{file}.txt")), "home words").expect("a file");
        fs::write(tools.outside.join(format!("{file}.txt")), CANARY).expect("a file");
    }
    symlink(&tools.outside, tools.workspace.join("link")).expect("a link");
    fs::write(tools.workspace.join("calm.txt"), "calm words").expect("a file");
}

/// Exchanges folder and link until it is over; the last exchange leaves them as they were.
fn swap(workspace: &Path, over: &AtomicBool, counts: &Counts) {
    let (folder, link) = (workspace.join("swap"), workspace.join("link"));
    while !over.load(Ordering::Relaxed) {
        for _ in 0..2 {
            renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).expect("an exchange");
            counts.swaps.fetch_add(1, Ordering::Relaxed);
        }
        thread::yield_now();
    }
}

/// One hand: greps through the folder, reads and writes single files of it.
fn work(tools: &Tools, counts: &Counts, opens: u64, hand: usize) {
    let mut peer = tools.rig.peer();
    let mut turn = 0_u64;
    while counts.opens.load(Ordering::Relaxed) < opens {
        turn += 1;
        let file = format!("swap/{}.txt", turn % FILES);
        let (name, args, opened) = match turn % 8 {
            0 if hand == 0 => ("write", json!({ "path": file, "content": "home words" }), 1),
            1 | 2 => ("read", json!({ "path": file }), 1),
            _ => (
                "grep",
                json!({ "pattern": "words|canary", "path": "swap" }),
                FILES,
            ),
        };
        let said = call(&mut peer, &tools.workspace, name, &args);
        counts.opens.fetch_add(opened, Ordering::Relaxed);
        count(counts, &said);
    }
}

fn count(counts: &Counts, said: &Said) {
    let which = if said.text.contains("canary") {
        &counts.escapes
    } else if said.text.contains("home words") || said.text.starts_with("Wrote") {
        &counts.inside
    } else {
        &counts.refused
    };
    which.fetch_add(1, Ordering::Relaxed);
}
