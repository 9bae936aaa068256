//! The order of sections, what is left out, bounds and fences.

use super::*;
use proptest::prelude::*;

#[test]
fn everything_stands_in_its_order() {
    let shown = PromptInputs {
        persistent: "Be kind.",
        working: "Look at the tests.\n",
        monitor: Some(MonitorResult {
            at: "2026-11-16 09:00:00 UTC",
            exit_code: Some(2),
            problem: None,
            stdout: "out",
            stderr: "err\n",
        }),
        previous: "I looked.",
        task: "Go on.",
        iteration: 7,
    };
    let expected = "## Persistent Memory\n\nBe kind.\n\n\
        ## Working Memory (this iteration only)\n\nLook at the tests.\n\n\
        ## Monitor Output\n\nIt ended at 2026-11-16 09:00:00 UTC with exit code 2.\n\n\
        ```\nout\n[stderr]\nerr\n```\n\n\
        ## Previous Response\n\nI looked.\n\n\
        ## Current Task\n\nGo on.\n\n---\nIteration: 7";
    assert_eq!(iteration_prompt(&shown), expected);
}

#[test]
fn empty_sections_are_left_out() {
    let shown = PromptInputs {
        persistent: " \n",
        task: "Go on.",
        iteration: 1,
        ..PromptInputs::default()
    };
    assert_eq!(
        iteration_prompt(&shown),
        "## Current Task\n\nGo on.\n\n---\nIteration: 1"
    );
    let empty = PromptInputs::default();
    assert_eq!(iteration_prompt(&empty), "---\nIteration: 0");
}

#[test]
fn a_monitor_that_said_nothing_or_failed_is_told() {
    let silent = MonitorResult {
        at: "then",
        exit_code: Some(0),
        ..MonitorResult::default()
    };
    let told = monitor_section(&silent);
    assert_eq!(
        told,
        "It ended at then with exit code 0. It printed nothing."
    );
    let killed = MonitorResult {
        at: "then",
        problem: Some("It took longer than\n5 ms."),
        stdout: "half",
        ..MonitorResult::default()
    };
    let told = monitor_section(&killed);
    assert!(told.starts_with("It ended at then without an exit code. It took longer than 5 ms."));
    assert!(told.ends_with("```\nhalf\n```"), "{told}");
}

proptest! {
    #[test]
    fn nothing_printed_closes_its_fence(stdout in "[`a\n]{0,60}", stderr in "[`~b\n]{0,60}") {
        let watched = MonitorResult { at: "then", exit_code: Some(0), stdout: &stdout, stderr: &stderr, ..MonitorResult::default() };
        let told = monitor_section(&watched);
        let Some((_, block)) = told.split_once("\n\n") else {
            prop_assert!(stdout.is_empty() && stderr.is_empty());
            return Ok(());
        };
        let lines: Vec<&str> = block.lines().collect();
        let fence = lines[0];
        prop_assert!(fence.len() >= FENCE_MIN && fence.bytes().all(|byte| byte == b'`'));
        let closing = |line: &&&str| line.trim_start().starts_with(fence);
        prop_assert_eq!(lines[1..].iter().filter(closing).count(), 1);
        prop_assert_eq!(lines[lines.len() - 1], fence);
    }

    #[test]
    fn any_prompt_is_bounded_and_ends_with_its_number(parts in prop::collection::vec("(?s).{0,40}", 5), iteration: u32, times in 1_usize..20_000) {
        let long = parts[0].repeat(times);
        let shown = PromptInputs {
            persistent: &long,
            working: &parts[1],
            monitor: Some(MonitorResult { at: "then", stdout: &long, stderr: &parts[2], ..MonitorResult::default() }),
            previous: &long,
            task: &parts[4],
            iteration,
        };
        let text = iteration_prompt(&shown);
        let end = format!("---\nIteration: {iteration}");
        prop_assert!(text.ends_with(&end));
        prop_assert!(text.len() < 2 * LOOP_TEXT_BYTES_MAX);
    }
}
