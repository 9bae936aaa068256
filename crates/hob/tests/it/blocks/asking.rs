//! `hob ask` while the daemon is killed: each answer is printed once and whole.

use super::{KILLS, model};
use crate::mind::house_with;
use crate::support::RandomKills;
use crate::support::wait_until;
use std::fs::File;
use std::process::Stdio;

#[test]
fn ask_prints_the_stored_text_whenever_the_daemon_is_killed() {
    let kills = RandomKills::new(KILLS);
    let sim = model();
    let mut house = house_with(&sim);
    let task = "What time is it?";
    let whole = house.hob(&["ask", "--session", "whole", task]).success();
    for round in 0..kills.count {
        let bytes = 1 + kills.randomness.below(whole.len() as u64);
        eprintln!("round {round}: killed after {bytes} bytes");
        let session = format!("asked-{round}");
        let output = house.home().join(&session);
        let mut asking = house.command(&["ask", "--session", &session, task]);
        asking.stdin(Stdio::null()).stderr(Stdio::null());
        asking.stdout(File::create(&output).expect("writable"));
        let mut asking = asking.spawn().expect("it starts");
        let printed = || std::fs::read(&output).expect("readable");
        wait_until("it printed as much", || printed().len() as u64 >= bytes);
        house.kill();
        house.start_daemon();
        assert!(asking.wait().expect("it ends").success());
        assert_eq!(String::from_utf8(printed()).expect("UTF-8"), whole);
    }
}
