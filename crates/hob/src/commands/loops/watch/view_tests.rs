//! The live view at the sizes people have.

use super::*;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{LoopEnd, MonitorOutput};

const NOW: u64 = 1_794_778_625_000;

fn screen(columns: usize, rows: usize) -> ScreenStyle {
    ScreenStyle {
        width: Some(columns),
        rows: Some(rows),
        ..ScreenStyle::plain(NOW)
    }
}

fn watched() -> WatchedLoop {
    let mut watched = WatchedLoop::new("build");
    watched.model = Some("anthropic/claude-sonnet".to_owned());
    watched.max_iterations = 10;
    watched.state.running = true;
    watched.state.phase = LoopPhase::Prompt;
    watched.state.iteration = 7;
    watched.state.since_start = 7;
    watched.state.cost = Cost {
        micro_dollars: Some(31_200),
        input_tokens: 9_000,
        output_tokens: 800,
        calls: 9,
    };
    watched.began_at = Some(NOW - 75_000);
    watched.has_monitor = true;
    watched.monitor = Some(MonitorOutput {
        at: NOW - 80_000,
        duration_ms: 12,
        exit_code: Some(101),
        stdout: "    Checking hob v0.1.0 (/work/hob/crates/hob)\n\
                 error[E0425]: cannot find value `tick` in this scope, which is a long line\n \
                 --> crates/hob/src/watch.rs:12:5\n"
            .to_owned(),
        stderr: "could not compile `hob`\n".to_owned(),
        problem: None,
    });
    watched.prompt = "# Persistent Memory\n\nThe tests live in tests/it.\n\n# Monitor Output\n\
                   …\n\n# Current Task\n\nLook at the build and mend what is broken.\n"
        .to_owned();
    watched.answer = "The build fails because `tick` is not declared any more. I look at the file \
                   first.\n→ read crates/hob/src/watch.rs\nIt was renamed to `turn`, so I rename \
                   it here, too"
        .to_owned();
    for iteration in 1..7 {
        watched.past.push_front(PastIteration {
            iteration,
            ok: iteration != 5,
            took_ms: Some(u64::from(iteration) * 21_400),
            summary: match iteration {
                5 => "No model could answer: 529 overloaded.".to_owned(),
                _ => format!("Mended {iteration} warnings, and the tests of the house pass again."),
            },
        });
    }
    watched
}

fn drawn(watched: &WatchedLoop, columns: usize, rows: usize) -> String {
    let lines = frame(watched, &screen(columns, rows), 0);
    assert_eq!(lines.len(), rows);
    for line in &lines {
        assert!(width(line) <= columns, "{line:?} is wider than {columns}");
    }
    lines.join("\n")
}

#[test]
fn it_fits_ordinary_small_and_large_screens() {
    insta::assert_snapshot!("80x24", drawn(&watched(), 80, 24));
    insta::assert_snapshot!("40x15", drawn(&watched(), 40, 15));
    insta::assert_snapshot!("120x40", drawn(&watched(), 120, 40));
}

#[test]
fn it_says_how_the_loop_stands() {
    let mut watched = watched();
    let status = |watched: &WatchedLoop| {
        drawn(watched, 80, 24)
            .lines()
            .nth(1)
            .unwrap_or_default()
            .to_owned()
    };
    watched.state.phase = LoopPhase::Sleep;
    watched.state.next_at = Some(NOW + 3_200);
    assert!(status(&watched).starts_with("sleeping, next in 4 s "));
    watched.state.errors = 3;
    assert!(status(&watched).starts_with("failed 3 times, next in 4 s "));
    watched.is_away = true;
    assert!(status(&watched).starts_with("The daemon is away"));
    watched.is_away = false;
    watched.state.running = false;
    watched.state.stopped = Some(LoopEnd::Stopped);
    assert!(status(&watched).starts_with("stopped; start it: hob loop start build"));
    watched.end = Some((
        LoopEnd::MaxIterations,
        "Its 10 iterations are done.".to_owned(),
    ));
    assert!(status(&watched).starts_with("Its 10 iterations are done."));
}

#[test]
fn every_size_is_drawn_and_none_is_overrun() {
    let full = watched();
    let new =
        WatchedLoop::new("a-name-that-is-as-long-as-names-of-loops-can-be-in-this-house-here");
    for columns in [10, 20, 39, 80, 200] {
        for rows in [4, 5, 8, 12, 24, 60] {
            drawn(&full, columns, rows);
            drawn(&new, columns, rows);
        }
    }
}

#[test]
fn what_came_from_outside_cannot_move_the_cursor() {
    let mut watched = watched();
    watched.name = "bad\u{1b}[2J".to_owned();
    watched.answer = "one\u{1b}[3Ftwo\u{7}".to_owned();
    watched.prompt = "\u{1b}]0;title\u{7}".to_owned();
    watched.past[0].summary = "\u{1b}[1A".to_owned();
    if let Some(output) = &mut watched.monitor {
        output.stdout = "\u{9b}2J".to_owned();
    }
    let shown = drawn(&watched, 80, 24);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{shown:?}");
}
