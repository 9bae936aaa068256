//! Fault 63 in the terminal: commands that print without end, without newlines, and no text.

use super::super::trial::{Trial, percentile};
use super::Desk;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the record keeps of a command's output, and the line that says what is missing.
const OUTPUT_BYTES_MAX: usize = 64 * 1_024 + 100;
const GROWTH_KIB_MAX: u64 = 64 * 1_024;
/// Long, because all of it passes through tmux.
const PATIENCE: Duration = Duration::from_mins(8);

#[test]
fn f63_terminal_commands_that_print_without_end() {
    let trial = Trial::begin(63);
    let mut desk = Desk::new();
    desk.run("yes | head -c 2000000");
    let before = desk.rig.memory_kib("VmRSS");
    desk.rig.reset_peak_memory();
    let over = Arc::new(AtomicBool::new(false));
    let beside = {
        let (over, mut peer) = (Arc::clone(&over), desk.rig.peer());
        std::thread::spawn(move || {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                peer.must("session.list", &json!({}));
                times.push(begun.elapsed().as_secs_f64() * 1_000.0);
                std::thread::sleep(Duration::from_millis(20));
            }
            times
        })
    };
    let mut printed = 0;
    for (command, megabytes, begins) in [
        ("head -c 120000000 /dev/zero | tr '\\0' a", 120, "aaaa"),
        ("head -c 20000000 /dev/urandom", 20, ""),
        (
            "head -c 20000000 /dev/urandom | tr '\\0-\\177' '\\200-\\377'",
            20,
            "",
        ),
        (
            "yes 'e\u{301}\u{302}日本' | head -c 10000000",
            10,
            "e\u{301}\u{302}日本\n",
        ),
        ("head -c 30000000 /dev/zero | tr '\\0' '\\033'", 30, ""),
    ] {
        // The shell's own state is a person's to mend after such a thing.
        let line = format!("printf 'begin\\n'; {command}; printf '\\033c\\033\\\\\\nthe end\\n'");
        let id = desk.begin(&line, &json!({}));
        let ended = desk.end(&id, PATIENCE);
        assert_eq!(ended["state"], "done", "{command}: {}", short(&ended));
        assert_eq!(ended["exitCode"], 0, "{command}: {}", short(&ended));
        let output = ended["output"].as_str().expect("text");
        assert!(
            output.len() <= OUTPUT_BYTES_MAX,
            "{command}: {} bytes",
            output.len()
        );
        assert!(
            output.ends_with("the end\n"),
            "{command}: {}",
            short(&ended)
        );
        if !begins.is_empty() {
            let head = format!("begin\n{begins}");
            assert!(output.starts_with(&head), "{command}: {}", short(&ended));
            assert_eq!(ended["truncated"], true, "{command}");
        }
        let control = output.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{command}");
        printed += megabytes;
    }
    over.store(true, Ordering::Relaxed);
    let mut times = beside.join().expect("it only asks");
    let growth = desk.rig.memory_kib("VmHWM").saturating_sub(before);
    assert!(growth < GROWTH_KIB_MAX, "the daemon grew by {growth} KiB");
    let next = desk.run("echo well");
    assert_eq!(next["output"], "well\n", "{next}");
    let captured = desk
        .peer
        .must("terminal.capture", &json!({ "lines": 20_000 }));
    assert!(
        captured["pastLines"]
            .as_u64()
            .is_some_and(|lines| lines <= 10_000)
    );
    trial.figure("terminal_printed_mb", printed);
    trial.figure("terminal_daemon_growth_mb", growth / 1_024);
    let p99 = percentile(&mut times, 99);
    trial.figure("beside_terminal_p99_ms", format_args!("{p99:.1}"));
    desk.rig.stop();
}

/// A command without most of its output.
fn short(command: &serde_json::Value) -> String {
    let mut command = command.clone();
    if let Some(output) = command["output"].as_str() {
        let head: String = output.chars().take(200).collect();
        let tail: String = output.chars().rev().take(200).collect();
        command["output"] = json!({ "head": head, "tail": tail.chars().rev().collect::<String>() });
    }
    command.to_string()
}
