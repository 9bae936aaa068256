//! Terminals and commands over a real database.

use super::{
    CommandRow, CommandWrite, NewCommands, NewTerminal, QueuedCommands, TerminalRow, TerminalWrite,
    trim,
};
use crate::audit::NewAuditEntry;
use crate::{Store, StoreError, StoreOptions};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_wire::CommandId;
use hob_wire::rooms::audit::AuditListParams;
use hob_wire::rooms::terminal::{
    CommandOrigin, CommandState, TerminalCommand, TerminalHistoryParams, TerminalInfo,
    TerminalState,
};
use serde_json::json;

const NOW: u64 = 1_800_000_000_000;

fn house() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let (publisher, _) = hob_bus::publisher();
    let store = Store::open(StoreOptions {
        database: folder.path().join("hob.db"),
        clock: Clock::manual(NOW),
        randomness: Randomness::seeded(1),
        publisher,
        had_database: false,
    });
    (folder, store.unwrap())
}

fn new_terminal(id: &str, name: &str) -> NewTerminal {
    NewTerminal {
        id: id.to_owned(),
        key: "k".repeat(32),
        name: name.to_owned(),
        shell: "/bin/bash".to_owned(),
        folder: None,
        columns: 120,
        rows: 30,
        live_max: 3,
    }
}

fn asked(terminal: &TerminalRow, commands: &[&str], key: Option<&str>) -> NewCommands {
    NewCommands {
        terminal: terminal.row_id,
        by: CommandOrigin::Client,
        run: None,
        commands: commands.iter().map(|it| (*it).to_owned()).collect(),
        reason: None,
        timeout_ms: Some(7),
        stop_on_failure: true,
        key: key.map(str::to_owned),
        queue_max: 4,
        entry: Some(NewAuditEntry {
            act: "own-act",
            by: "me".to_owned(),
            session_key: None,
            run_id: None,
            tool: Some("terminal".to_owned()),
            matter: json!({ "commands": commands }),
        }),
    }
}

fn status(state: TerminalState) -> TerminalInfo {
    TerminalInfo {
        name: "main".to_owned(),
        state,
        detail: None,
        shell: "/bin/bash".to_owned(),
        folder: Some("/tmp".to_owned()),
        pid: None,
        columns: 80,
        rows: 24,
        queued: 0,
        running: None,
        attached: 0,
        created_at: NOW,
    }
}

fn begun(row: &CommandRow) -> CommandWrite {
    let mut command = row.command.clone();
    command.state = CommandState::Running;
    command.started_at = Some(NOW + 1);
    CommandWrite {
        command,
        shell_id: None,
    }
}

fn ended(row: &CommandRow, exit_code: i32, output: &str) -> CommandWrite {
    let mut write = begun(row);
    write.command.state = CommandState::Done;
    write.command.exit_code = Some(exit_code);
    write.command.duration_ms = Some(3);
    write.command.ended_at = Some(NOW + 4);
    write.command.output = Some(output.to_owned());
    write.command.output_bytes = output.len() as u64;
    write
}

fn happened(terminal: &TerminalRow, reached: u64, commands: Vec<CommandWrite>) -> TerminalWrite {
    TerminalWrite {
        terminal: terminal.row_id,
        reached: Some(reached),
        commands,
        status: None,
    }
}

/// A line that a person typed, as it began.
fn typed(id: u128, shell_id: &str) -> CommandWrite {
    CommandWrite {
        command: TerminalCommand {
            id: CommandId(uuid::Uuid::from_u128(id)),
            terminal: "main".to_owned(),
            by: CommandOrigin::Person,
            command: None,
            reason: None,
            state: CommandState::Running,
            exit_code: None,
            duration_ms: None,
            queued_at: NOW,
            started_at: Some(NOW),
            ended_at: None,
            output: None,
            output_bytes: 0,
            recorded: None,
            truncated: false,
            detail: None,
        },
        shell_id: Some(shell_id.to_owned()),
    }
}

async fn topics(store: &Store) -> Vec<String> {
    let log = store.event_log();
    let events = log.page(0, 500).await.unwrap();
    events.iter().map(|it| it.topic.to_string()).collect()
}

async fn history(store: &Store) -> Vec<TerminalCommand> {
    let page = store
        .command_history(TerminalHistoryParams::default())
        .await;
    page.unwrap().commands
}

#[tokio::test]
async fn one_terminal_of_a_name_is_alive() {
    let (_folder, store) = house();
    let first = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let again = store.add_terminal(new_terminal("b", "main")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let closed = TerminalWrite {
        status: Some(status(TerminalState::Closed)),
        ..happened(&first, 9, Vec::new())
    };
    store.write_terminal(closed.clone().into()).await.unwrap();
    // Twice is once: one event, and an end stays an end.
    store.write_terminal(closed.into()).await.unwrap();
    assert_eq!(topics(&store).await, ["terminal.status"]);
    let second = store.add_terminal(new_terminal("b", "main")).await.unwrap();
    assert_eq!(store.live_terminals().await.unwrap().len(), 1);
    assert_eq!(store.terminal("main").await.unwrap(), Some(second));
    assert_eq!(store.terminal_ids().await.unwrap(), ["a", "b"]);
    let refused = store.queue_commands(asked(&first, &["ls"], None)).await;
    assert!(
        matches!(refused, Err(StoreError::NotFound(_))),
        "{refused:?}"
    );
    for id in ["c", "d"] {
        store.add_terminal(new_terminal(id, id)).await.unwrap();
    }
    let full = store.add_terminal(new_terminal("e", "e")).await;
    assert!(matches!(full, Err(StoreError::Conflict(_))), "{full:?}");
}

#[tokio::test]
async fn a_key_makes_the_same_commands_once() {
    let (_folder, store) = house();
    let main = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let ask = asked(&main, &["one", "two"], Some("k"));
    let first = store.queue_commands(ask.clone()).await.unwrap();
    assert!(!first.repeated);
    let chain = Some(first.rows[0].number);
    assert_eq!((first.rows[0].chain, first.rows[1].chain), (chain, chain));
    let again = store.queue_commands(ask).await.unwrap();
    assert_eq!(
        again,
        QueuedCommands {
            repeated: true,
            ..first.clone()
        }
    );
    let other = store
        .queue_commands(asked(&main, &["three"], Some("k")))
        .await;
    assert!(matches!(other, Err(StoreError::Conflict(_))), "{other:?}");
    assert_eq!(store.live_commands(main.row_id).await.unwrap(), first.rows);
    // The record has the act once.
    let audit = store.list_audit(AuditListParams::default()).await.unwrap();
    assert_eq!(audit.entries.len(), 1);
    let full = store.queue_commands(asked(&main, &["x"; 3], None)).await;
    assert!(matches!(full, Err(StoreError::Overloaded(_))), "{full:?}");
    assert_eq!(history(&store).await.len(), 2);
}

#[tokio::test]
async fn what_happened_is_written_once() {
    let (_folder, store) = house();
    let main = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let queued = store.queue_commands(asked(&main, &["ls"], None)).await;
    let row = &queued.unwrap().rows[0];
    let all = happened(&main, 50, vec![begun(row), ended(row, 7, "out")]);
    store.write_terminal(all.clone().into()).await.unwrap();
    store.write_terminal(all.into()).await.unwrap();
    let late = happened(&main, 20, vec![begun(row), ended(row, 0, "other")]);
    store.write_terminal(late.into()).await.unwrap();
    assert_eq!(
        topics(&store).await,
        ["terminal.command", "terminal.command"]
    );
    let found = store.command(row.command.id).await.unwrap();
    assert_eq!(found.exit_code, Some(7));
    assert_eq!(found.output.as_deref(), Some("out"));
    assert_eq!(found.started_at, Some(NOW + 1));
    assert!(store.live_commands(main.row_id).await.unwrap().is_empty());
    let main = store.terminal("main").await.unwrap().unwrap();
    assert_eq!(main.reached, 50);
}

#[tokio::test]
async fn a_persons_line_gets_its_row_when_it_begins_or_when_it_ends() {
    let (_folder, store) = house();
    let main = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let write = typed(1, "p9.1");
    for _ in 0..2 {
        let began = happened(&main, 5, vec![write.clone()]);
        store.write_terminal(began.into()).await.unwrap();
    }
    let live = store.live_commands(main.row_id).await.unwrap();
    assert_eq!(live.len(), 1);
    assert_eq!(live[0].shell_id.as_deref(), Some("p9.1"));
    let mut over = write;
    over.command.command = Some("make".to_owned());
    over.command.state = CommandState::Done;
    let mut short = typed(2, "p9.2");
    short.command.state = CommandState::Done;
    for _ in 0..2 {
        let ended = happened(&main, 9, vec![over.clone(), short.clone()]);
        store.write_terminal(ended.into()).await.unwrap();
    }
    let all = history(&store).await;
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].command.as_deref(), Some("make"));
    assert_eq!(topics(&store).await.len(), 3);
    assert!(store.live_commands(main.row_id).await.unwrap().is_empty());
}

#[tokio::test]
async fn history_goes_page_by_page() {
    let (_folder, store) = house();
    let main = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let other = store
        .add_terminal(new_terminal("b", "other"))
        .await
        .unwrap();
    let queued = store.queue_commands(asked(&main, &["1", "2", "3"], None));
    queued.await.unwrap();
    store
        .queue_commands(asked(&other, &["x"], Some("k")))
        .await
        .unwrap();
    let of_key = TerminalHistoryParams {
        idempotency_key: Some("k".to_owned()),
        ..TerminalHistoryParams::default()
    };
    let of_key = store.command_history(of_key).await.unwrap();
    assert_eq!(of_key.commands.len(), 1);
    let page = |before| {
        store.command_history(TerminalHistoryParams {
            name: Some("main".to_owned()),
            limit: Some(2),
            before,
            idempotency_key: None,
        })
    };
    let first = page(None).await.unwrap();
    assert!(first.more);
    let texts: Vec<_> = first.commands.iter().map(|it| &it.command).collect();
    assert_eq!(texts, [&Some("3".to_owned()), &Some("2".to_owned())]);
    let rest = page(Some(first.commands[1].id)).await.unwrap();
    assert!(!rest.more);
    assert_eq!(rest.commands.len(), 1);
    let unknown = page(Some(CommandId(uuid::Uuid::from_u128(3)))).await;
    assert!(
        matches!(unknown, Err(StoreError::NotFound(_))),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn old_commands_go_and_unended_ones_stay() {
    let (_folder, store) = house();
    let main = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let queued = store.queue_commands(asked(&main, &["1", "2", "3", "4"], None));
    let rows = queued.await.unwrap().rows;
    let over = rows[1..].iter().map(|row| ended(row, 0, "out")).collect();
    store
        .write_terminal(happened(&main, 5, over).into())
        .await
        .unwrap();
    let terminal = main.row_id;
    store
        .write(0, move |batch| trim::trim_commands(batch, terminal, 2, 1))
        .await
        .unwrap();
    let kept = history(&store).await;
    let kept: Vec<_> = kept.iter().map(|it| it.command.clone().unwrap()).collect();
    assert_eq!(kept, ["4", "3", "1"]);
    let output = |row: &CommandRow| store.command(row.command.id);
    assert_eq!(output(&rows[2]).await.unwrap().output, None);
    assert_eq!(
        output(&rows[3]).await.unwrap().output.as_deref(),
        Some("out")
    );
}

#[tokio::test]
async fn what_was_queued_meanwhile_ends_with_its_terminal() {
    let (_folder, store) = house();
    let main = store.add_terminal(new_terminal("a", "main")).await.unwrap();
    let queued = store.queue_commands(asked(&main, &["ls"], None)).await;
    let row = &queued.unwrap().rows[0];
    let lost = TerminalWrite {
        status: Some(status(TerminalState::Lost)),
        ..happened(&main, 9, Vec::new())
    };
    store.write_terminal(lost.into()).await.unwrap();
    let found = store.command(row.command.id).await.unwrap();
    assert_eq!(found.state, CommandState::Lost);
    assert_eq!(found.ended_at, Some(NOW));
    assert_eq!(
        topics(&store).await,
        ["terminal.status", "terminal.command"]
    );
}

#[tokio::test]
async fn every_terminal_of_a_rotation_is_looked_at() {
    for terminals in [1_u32, 7, 32, 64, 65] {
        let (_folder, store) = house();
        let mut rows = Vec::new();
        for index in 0..terminals {
            let name = format!("t{index}");
            let new = NewTerminal {
                live_max: terminals,
                ..new_terminal(&name, &name)
            };
            rows.push(store.add_terminal(new).await.unwrap().row_id);
        }
        let looked_at = store.write(0, move |batch| {
            let mut looked_at = vec![0; rows.len()];
            // As many of each as it may have before it is looked at, and one to begin with.
            for number in 0..65 * rows.len() as u64 {
                let index = usize::try_from(number).unwrap() % rows.len();
                let command = batch
                    .sql
                    .prepare_cached(
                        "INSERT INTO commands (id, terminal, by, state, queued_at)
                     VALUES (randomblob(16), ?1, 'client', 'done', 0)",
                    )?
                    .insert([rows[index]])?;
                let number = crate::value::uint(command);
                looked_at[index] += u32::from(trim::is_due(batch, rows[index], number)?);
            }
            Ok(looked_at)
        });
        let looked_at: Vec<u32> = looked_at.await.unwrap();
        assert!(!looked_at.contains(&0), "{terminals}: {looked_at:?}");
    }
}
