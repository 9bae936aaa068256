//! The bytes of a recording, from any offset, and where the output of commands lies in it.

use super::{Rig, until};
use data_encoding::BASE64;
use hob_wire::rooms::terminal::{CommandState, Stream, TerminalStreamParams, TerminalStreamResult};
use hob_wire::{CommandId, ErrorCode, WireError};

/// Longer than anything takes that is not broken.
const WAIT_MS: u64 = 60_000;

async fn read(
    rig: &Rig,
    params: TerminalStreamParams,
) -> Result<(TerminalStreamResult, Vec<u8>), WireError> {
    let page = rig.caller().call::<Stream>(&params).await?;
    let bytes = BASE64.decode(page.data.as_bytes()).expect("is base64");
    assert_eq!(page.next, page.offset + bytes.len() as u64, "{page:?}");
    Ok((page, bytes))
}

/// The bytes of a terminal or a command from an offset to the end, in pages of this size.
async fn all(rig: &Rig, command: Option<CommandId>, since: u64, limit: u32) -> Vec<u8> {
    let mut params = TerminalStreamParams {
        command,
        since,
        limit: Some(limit),
        wait_ms: command.map(|_| WAIT_MS),
        ..TerminalStreamParams::default()
    };
    let mut whole = Vec::new();
    loop {
        let (page, bytes) = read(rig, params.clone()).await.expect("is read");
        assert!(
            page.skipped == 0 && bytes.len() <= limit as usize,
            "{page:?}"
        );
        whole.extend(bytes);
        if page.ended || (command.is_none() && page.next == page.end) {
            return whole;
        }
        (params.since, params.recording) = (page.next, page.recording);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_raw_output_of_a_command_is_read_while_it_runs_and_afterwards() {
    let rig = Rig::new();
    rig.run("echo earlier").await;
    let id = rig
        .detached("printf '\\033[31mr\\303\\251d\\033[0m\\n'; until [ -e go ]; do sleep 0.05; done; seq 3")
        .await;
    let params = TerminalStreamParams {
        command: Some(id),
        wait_ms: Some(WAIT_MS),
        ..TerminalStreamParams::default()
    };
    let (page, bytes) = read(&rig, params).await.expect("is read");
    assert!(bytes.starts_with(b"\x1b[31m") && !page.ended, "{page:?}");
    assert_eq!(page.state, Some(CommandState::Running));
    std::fs::write(rig.person().join("go"), "").unwrap();
    let wanted = "\u{1b}[31mr\u{e9}d\u{1b}[0m\r\n1\r\n2\r\n3\r\n";
    for limit in [1_000, 3] {
        let whole = all(&rig, Some(id), 0, limit).await;
        let text = String::from_utf8(whole).expect("is text");
        // The mark of the end is behind it.
        assert_eq!(text.split("\u{1b}]7717").next(), Some(wanted), "{limit}");
    }
    let ended = rig.ended(id).await;
    let recorded = ended.recorded.expect("has its place");
    assert_eq!(recorded.from, page.offset);
    assert_eq!(Some(recorded.recording), page.recording);
    assert_eq!(ended.output_bytes, wanted.len() as u64);
    assert!(
        recorded
            .to
            .is_some_and(|to| to >= recorded.from + ended.output_bytes)
    );
    // The event of its end has the same.
    let told = rig.logged("terminal.command").await;
    let last = told.iter().rfind(|it| it["id"] == id.to_string()).unwrap();
    assert_eq!(last["outputBytes"], ended.output_bytes);
    assert_eq!(last["recorded"]["from"], recorded.from);
    assert_eq!(last["recorded"]["to"], recorded.to.unwrap());
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_learns_the_key_of_the_marks() {
    let rig = Rig::new();
    rig.run("echo one").await;
    let folder = rig.home.terminals();
    let folder = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let recorded = std::fs::read(folder.path().join("out.0000000000000000")).unwrap();
    let introducer = b"\x1b]7717;";
    let at = recorded.windows(7).position(|piece| piece == introducer);
    let key = &recorded[at.expect("has marks") + 7..][..32];
    let whole = all(&rig, None, 0, 1_000_000).await;
    assert_eq!(whole.len(), recorded.len());
    assert!(
        !whole
            .windows(4)
            .any(|piece| key.windows(4).any(|it| it == piece))
    );
    // From any offset, in pages of any length.
    let at = at.unwrap();
    for since in [at, at + 3, at + 7, at + 8, at + 20, at + 38, at + 39] {
        for limit in [1, 5, 1_000_000] {
            let bytes = all(&rig, None, since as u64, limit).await;
            assert_eq!(bytes, whole[since..], "{since} {limit}");
        }
    }
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_mean_the_same_bytes_for_the_next_daemon() {
    let mut rig = Rig::new();
    let id = rig
        .detached("echo one; until [ -e go ]; do sleep 0.05; done; echo two")
        .await;
    let before = all_so_far(&rig, id).await;
    // Its end is stored while the other runs.
    let queued = rig.detached("echo never").await;
    rig.cancel(Some(queued)).await;
    rig.stop().await;
    std::fs::write(rig.person().join("go"), "").unwrap();
    rig.begin(true);
    let params = TerminalStreamParams {
        command: Some(id),
        since: before.next,
        recording: before.recording,
        wait_ms: Some(WAIT_MS),
        ..TerminalStreamParams::default()
    };
    let (page, bytes) = read(&rig, params).await.expect("is read");
    assert!(bytes.starts_with(b"two\r\n"), "{bytes:?}");
    assert_eq!(page.offset, before.next);
    assert_eq!(rig.ended(id).await.output.unwrap(), "one\ntwo\n");
    rig.end().await;
}

/// The first page of a command that has printed one line.
async fn all_so_far(rig: &Rig, id: CommandId) -> TerminalStreamResult {
    let mut page = None;
    until("it has printed", || async {
        let params = TerminalStreamParams {
            command: Some(id),
            ..TerminalStreamParams::default()
        };
        read(rig, params)
            .await
            .is_ok_and(|(_, bytes)| bytes == b"one\r\n")
    })
    .await;
    let params = TerminalStreamParams {
        command: Some(id),
        ..TerminalStreamParams::default()
    };
    page.get_or_insert(read(rig, params).await.expect("is read").0)
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_terminal_that_is_gone_is_still_read() {
    let rig = Rig::new();
    rig.run("true").await;
    let id = rig.detached("echo last; exit 3").await;
    let output = all(&rig, Some(id), 0, 2).await;
    assert!(output.starts_with(b"last\r\n"), "{output:?}");
    let ended = rig.ended(id).await;
    let recording = ended.recorded.expect("has its place").recording;
    until("the name is free", || async { rig.main().await.is_none() }).await;
    let params = |recording: &str| TerminalStreamParams {
        recording: Some(recording.to_owned()),
        ..TerminalStreamParams::default()
    };
    let (page, bytes) = read(&rig, params(&recording)).await.expect("is read");
    let text = String::from_utf8_lossy(&bytes);
    assert!(page.ended && text.contains("last\r\n"), "{text}");
    // Another terminal of this name has another recording.
    rig.create("main").await;
    let (page, _) = read(&rig, params(&recording)).await.expect("is read");
    assert!(page.ended && page.recording.as_deref() == Some(&*recording));
    let new = read(&rig, TerminalStreamParams::default()).await.unwrap().0;
    assert_ne!(new.recording.as_deref(), Some(&*recording));
    for (wrong, code) in [
        ("../main", ErrorCode::InvalidParams),
        ("", ErrorCode::InvalidParams),
        ("0123-4567", ErrorCode::NotFound),
    ] {
        let refused = read(&rig, params(wrong)).await.unwrap_err();
        assert_eq!(refused.code, code, "{wrong}");
    }
    rig.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_say_where_their_text_is() {
    let rig = Rig::new();
    rig.create("main").await;
    let mut events = rig.hear("terminal.output");
    let id = rig
        .detached("seq 5; printf '\\033[1m'; sleep 0.2; seq 5; echo over")
        .await;
    let ended = rig.ended(id).await;
    let mut at = None;
    let mut of_command = None;
    while let Some(event) = events.recv().await {
        let (offset, end) = (event["offset"].as_u64(), event["end"].as_u64());
        assert!(offset < end, "{event}");
        assert!(at.is_none() || at == offset, "nothing is missing: {event}");
        at = end;
        if event["command"] == id.to_string() {
            of_command = of_command.or(offset);
            if event["text"].as_str().unwrap().contains("over") {
                break;
            }
        }
    }
    let recorded = ended.recorded.expect("has its place");
    assert!(of_command <= Some(recorded.from) && at <= recorded.to);
    rig.end().await;
}
