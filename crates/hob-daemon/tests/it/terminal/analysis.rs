//! `terminal.analyze` with an analyzer that shows what it was given.

use super::Rig;
use hob_wire::ErrorCode;
use hob_wire::analysis::OutputAnalysis;
use hob_wire::rooms::terminal::{Analyze, TerminalAnalyzeParams};
use serde_json::json;

pub(super) fn echo(command: Option<&str>, output: &str, exit_code: Option<i32>) -> OutputAnalysis {
    OutputAnalysis {
        format: "echo".to_owned(),
        parsed: json!({ "command": command, "output": output.trim_end(), "exit": exit_code }),
        findings: Vec::new(),
        summary: String::new(),
        line_count: 0,
        byte_count: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_command_or_any_output_is_analyzed() {
    let rig = Rig::new();
    let ran = rig.run("echo hi; (exit 3)").await;
    let analyze = async |params: TerminalAnalyzeParams| rig.caller().call::<Analyze>(&params).await;
    let recorded = TerminalAnalyzeParams {
        id: Some(ran.id),
        ..TerminalAnalyzeParams::default()
    };
    let found = analyze(recorded.clone()).await.unwrap();
    let expected = json!({ "command": "echo hi; (exit 3)", "output": "hi", "exit": 3 });
    assert_eq!(found.parsed, expected);
    let given = TerminalAnalyzeParams {
        output: Some("some text".to_owned()),
        command: Some("cat".to_owned()),
        id: None,
    };
    let found = analyze(given.clone()).await.unwrap();
    let expected = json!({ "command": "cat", "output": "some text", "exit": null });
    assert_eq!(found.parsed, expected);
    let both = TerminalAnalyzeParams {
        id: recorded.id,
        ..given
    };
    for wrong in [both, TerminalAnalyzeParams::default()] {
        let refused = analyze(wrong).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidParams);
    }
    rig.end().await;
}
