//! Downloads at 80 columns.

use super::super::text::width;
use super::*;
use serde_json::json;

const NOW: u64 = 1_794_778_625_000;

fn download(state: DownloadState, done: u64, total: u64) -> ModelDownload {
    ModelDownload {
        name: "qwen3-4b".to_owned(),
        source: "qwen3-4b".to_owned(),
        file: "Qwen3-4B.gguf".to_owned(),
        state,
        bytes_done: done,
        bytes_total: total,
        bytes_per_second: None,
        seconds_left: None,
        licence: None,
        path: None,
        local: false,
        message: None,
    }
}

fn fits(lines: &[String]) -> String {
    assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
    lines.join("\n")
}

fn screen() -> ScreenStyle {
    ScreenStyle {
        width: Some(80),
        ..ScreenStyle::plain(NOW)
    }
}

#[test]
fn the_progress_shows_rate_and_remaining_time_on_one_line() {
    let mut running = download(DownloadState::Fetching, 1_250_000_000, 2_500_000_000);
    running.bytes_per_second = Some(12_300_000);
    running.seconds_left = Some(102);
    let line = progress(&running, &screen());
    assert!(width(&line) < 80, "{line}");
    for part in [
        "██████████░░░░░░░░░░",
        " 50%",
        "11.7 MiB/s",
        "1 min 42 s left",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    let verifying = download(DownloadState::Verifying, 10, 10);
    assert!(progress(&verifying, &screen()).contains("verifying"));
    let unknown = download(DownloadState::Fetching, 0, 0);
    assert_eq!(progress(&unknown, &screen()), "qwen3-4b  fetching");
    // More than the whole, as a server might claim.
    let odd = download(DownloadState::Fetching, 20, 10);
    assert!(progress(&odd, &screen()).contains("100%"));
}

#[test]
fn times_are_short() {
    assert_eq!(duration(59), "59 s");
    assert_eq!(duration(60), "1 min 0 s");
    assert_eq!(duration(7_500), "2 h 5 min");
}

#[test]
fn the_catalogue_says_what_fits() {
    let model = |name: &str, fits: bool, fetched: bool| {
        json!({
            "name": name, "about": "Good answers, uses tools", "repository": "o/r",
            "file": "m.gguf", "licence": "Apache-2.0", "tools": true,
            "bytes": 2_497_281_120_u64, "memoryBytes": 3_700_000_000_u64,
            "checked": "2026-11-19", "fits": fits, "fetched": fetched,
        })
    };
    let found = json!({
        "models": [model("large", false, false), model("small", true, false), model("old", true, true)],
        "memoryBytes": 8_000_000_000_u64, "diskFreeBytes": 50_000_000_000_u64,
    });
    let found = serde_json::from_value(found).expect("is a catalogue");
    insta::assert_snapshot!(fits(&catalog(&found, &screen())));
}

#[test]
fn a_plan_says_size_place_licence_and_hash() {
    let planned = json!({
        "id": "qwen3-4b",
        "plan": {
            "ready": false, "from": "unsloth/Qwen3-4B-Instruct-2507-GGUF at huggingface.co",
            "file": "Qwen3-4B-Instruct-2507-Q4_K_M.gguf", "bytes": 2_497_281_120_u64,
            "bytesDone": 1_000_000_000_u64, "sha256": "ab".repeat(32), "licence": "Apache-2.0",
            "tools": true, "folder": "/home/me/.local/share/hob/models/qwen3-4b",
            "warnings": ["It needs about 3.7 GiB of memory, and this machine has 4.0 GiB in all: it may be very slow or not start."],
        },
    });
    let planned = serde_json::from_value(planned).expect("is a plan");
    insta::assert_snapshot!(fits(&plan(&planned, &screen())));
}

#[test]
fn the_list_says_how_to_continue() {
    let mut failed = download(DownloadState::Failed, 400, 1_000);
    failed.name = "broken\u{1b}[2J".to_owned();
    failed.source = "hf:o/r".to_owned();
    failed.message = Some("The disk is full.".to_owned());
    let mut here = download(DownloadState::Complete, 2_497_281_120, 2_497_281_120);
    here.local = true;
    let found = ModelDownloadsResult {
        downloads: vec![failed, here, download(DownloadState::Partial, 999, 1_000)],
        folder: "/models".to_owned(),
        problems: vec!["'/models/x' holds no model that hob fetched.".to_owned()],
    };
    let text = fits(&downloads(&found, &screen()));
    assert!(!text.contains('\u{1b}'), "{text:?}");
    insta::assert_snapshot!(text);
    let none = ModelDownloadsResult {
        downloads: Vec::new(),
        folder: String::new(),
        problems: Vec::new(),
    };
    assert!(fits(&downloads(&none, &screen())).contains("hob model catalog"));
}
