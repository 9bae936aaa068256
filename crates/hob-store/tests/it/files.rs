//! What happens to a home whose files are missing, foreign, torn or rotten.

use crate::support::{Home, Open, text_to, wait_for};
use hob_kit::randomness::Randomness;
use hob_store::{NewToolOutput, Store, StoreError};
use hob_wire::rooms::daemon::StoreState;
use std::fs;

fn refusal(opened: Result<Open, StoreError>) -> String {
    match opened {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

/// A home with `count` acknowledged messages, as a killed daemon leaves it. The session itself is
/// in the database file, the messages in the log only.
async fn killed(count: usize) -> Home {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    store.close().await;
    let store = home.open();
    for number in 0..count {
        store.send("s", &format!("m{number}")).await;
    }
    let remains = home.remains();
    store.close().await;
    remains
}

#[tokio::test]
async fn an_orderly_end_leaves_one_file_and_no_findings() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    store.send("s", "x").await;
    store.close().await;
    assert!(!home.file("hob.db-wal").exists());
    let store = home.try_open(true).unwrap();
    let status = store.status();
    assert_eq!(status.state, StoreState::Ready);
    assert_eq!(status.findings, Vec::<String>::new());
    assert!(status.bytes > 0);
    assert_eq!(store.messages("s").await.len(), 1);
    store.close().await;
    let verdict = crate::support::verify(&home.database());
    assert_eq!(verdict.problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged() {
    let home = killed(40).await;
    let store = home.try_open(true).unwrap();
    assert_eq!(store.messages("s").await.len(), 40);
    assert_eq!(store.status().findings, Vec::<String>::new());
    assert_eq!(store.send("s", "after").await, 41);
    store.close().await;
}

#[tokio::test]
async fn a_missing_or_empty_database_is_never_a_fresh_start() {
    let home = Home::new();
    home.open().close().await;
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(home.file(&format!("hob.db{suffix}")));
    }
    for had_database in [true, false] {
        // The mark tells even if the lock file went away.
        let said = refusal(home.try_open(had_database));
        assert!(
            said.contains("hob.db") && said.contains("missing"),
            "{said}"
        );
        assert!(said.contains("backup"), "{said}");
        assert!(!home.database().exists(), "nothing was made");
    }
    fs::write(home.database(), "").unwrap();
    let said = refusal(home.try_open(true));
    assert!(said.contains("empty"), "{said}");
    assert_eq!(fs::read(home.database()).unwrap(), b"");
    fs::remove_file(home.file("hob.db.mark")).unwrap();
    home.try_open(false).unwrap().close().await;
}

#[tokio::test]
async fn a_log_without_its_database_is_kept() {
    let home = killed(5).await;
    fs::remove_file(home.database()).unwrap();
    fs::remove_file(home.file("hob.db.mark")).unwrap();
    let before = fs::read(home.file("hob.db-wal")).unwrap();
    let said = refusal(home.try_open(false));
    assert!(said.contains("hob.db-wal"), "{said}");
    assert_eq!(fs::read(home.file("hob.db-wal")).unwrap(), before);
}

#[tokio::test]
async fn what_is_not_a_database_of_hobs_is_left_alone() {
    let home = Home::new();
    for junk in [&b"hello"[..], &[0; 8192], &[0xFF; 4096]] {
        fs::write(home.database(), junk).unwrap();
        let said = refusal(home.try_open(false));
        assert!(said.contains("not a database"), "{said}");
        assert_eq!(fs::read(home.database()).unwrap(), junk);
    }
    fs::remove_file(home.database()).unwrap();
    make_foreign(&home);
    let before = fs::read(home.database()).unwrap();
    let said = refusal(home.try_open(false));
    assert!(said.contains("not one of hob's"), "{said}");
    assert_eq!(fs::read(home.database()).unwrap(), before);
}

#[expect(clippy::disallowed_methods, reason = "the test makes a foreign file")]
fn make_foreign(home: &Home) {
    let sql = rusqlite::Connection::open(home.database()).unwrap();
    sql.execute_batch("CREATE TABLE theirs (a)").unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_untouched() {
    let home = Home::new();
    home.open().close().await;
    let mut bytes = fs::read(home.database()).unwrap();
    bytes[60..64].copy_from_slice(&4_000_u32.to_be_bytes());
    fs::write(home.database(), &bytes).unwrap();
    let said = refusal(home.try_open(true));
    assert!(
        said.contains("4000") && said.contains("Update hob"),
        "{said}"
    );
    assert_eq!(fs::read(home.database()).unwrap(), bytes);
}

#[tokio::test]
async fn a_torn_log_keeps_its_prefix_and_tells_the_loss() {
    const MESSAGES: usize = 30;
    let seed = u64::from(std::process::id());
    let randomness = Randomness::seeded(seed);
    let sample = killed(MESSAGES).await;
    let whole = fs::read(sample.file("hob.db-wal")).unwrap();
    let length = whole.len() as u64;
    for turn in 0..24 {
        let place = format!("seed {seed}, turn {turn}");
        let home = sample.remains();
        let at = usize::try_from(randomness.below(length)).unwrap();
        let mut log = whole.clone();
        match turn % 3 {
            0 => log.truncate(at),
            1 => log[at] ^= 1 << randomness.below(8),
            _ => {
                let end =
                    (at + 1 + usize::try_from(randomness.below(8_192)).unwrap()).min(log.len());
                log[at..end].fill(0);
            }
        }
        let damaged = log != whole;
        fs::write(home.file("hob.db-wal"), log).unwrap();
        let store = home.try_open(true).unwrap();
        let kept = store.messages("s").await;
        for (number, message) in kept.iter().enumerate() {
            assert_eq!(
                message.content,
                format!("m{number}").as_str().into(),
                "{place}"
            );
        }
        assert!(
            kept.len() < MESSAGES || !damaged,
            "{place}: every frame counts"
        );
        let findings = store.status().findings;
        assert_eq!(
            findings.is_empty(),
            kept.len() == MESSAGES,
            "{place}: {findings:?}"
        );
        let copies = fs::read_dir(home.folder()).unwrap();
        let copies = copies.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().contains("-wal.damaged-")
        });
        let lost_file = fs::metadata(home.file("hob.db-wal")).is_err();
        assert!(
            copies.count() == 1 || at == 0 || lost_file || !damaged,
            "{place}: a copy"
        );
        assert_eq!(
            store.send("s", "after").await,
            kept.len() as u64 + 1,
            "{place}"
        );
        let again = home.remains();
        store.close().await;

        let store = again.try_open(true).unwrap();
        assert_eq!(store.messages("s").await.len(), kept.len() + 1, "{place}");
        assert_eq!(
            store.status().findings,
            Vec::<String>::new(),
            "{place}: told once"
        );
        store.close().await;
    }
}

#[tokio::test]
async fn a_log_cut_at_the_end_of_a_transaction_is_still_missed() {
    let home = killed(10).await;
    let log = fs::read(home.file("hob.db-wal")).unwrap();
    fs::write(home.file("hob.db-wal"), &log[..32]).unwrap();
    let store = home.try_open(true).unwrap();
    let findings = store.status().findings;
    assert_eq!(findings.len(), 1);
    // All messages were in the log only, and each was acknowledged.
    assert!(
        findings[0].contains("the writes of events 2 to 11 are lost"),
        "{findings:?}"
    );
    assert_eq!(store.status().losses, findings);
    store.close().await;

    let home = killed(10).await;
    fs::remove_file(home.file("hob.db-wal")).unwrap();
    let store = home.try_open(true).unwrap();
    let findings = store.status().findings;
    assert!(findings[0].contains("missing or empty"), "{findings:?}");
    store.close().await;
}

#[tokio::test]
async fn a_missing_or_damaged_mark_is_told_with_what_is_known() {
    for content in [None, Some(&b""[..]), Some(b"hob-mark 7 seven")] {
        let home = killed(10).await;
        match content {
            None => fs::remove_file(home.file("hob.db.mark")).unwrap(),
            Some(bytes) => fs::write(home.file("hob.db.mark"), bytes).unwrap(),
        }
        let verdict = Store::verify(&home.database(), &mut |_, _| {}).unwrap();
        assert_eq!(verdict.doubts.len(), 1, "{verdict:?}");
        // The lock file may be gone, too: the database knows that there was a mark.
        let store = home.open();
        let status = store.status();
        let told = &status.findings[0];
        for part in ["hob.db.mark", "up to event 11"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(status.losses, status.findings);
        assert_eq!(store.messages("s").await.len(), 10);
        let again = home.remains();
        store.close().await;
        let store = again.try_open(true).unwrap();
        assert_eq!(store.status().findings, Vec::<String>::new(), "told once");
        store.close().await;
    }
}

#[tokio::test]
async fn without_mark_and_log_nothing_is_claimed() {
    let home = killed(50).await;
    fs::remove_file(home.file("hob.db.mark")).unwrap();
    fs::remove_file(home.file("hob.db-wal")).unwrap();
    let store = home.try_open(true).unwrap();
    let findings = store.status().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("acknowledged writes may be"));
    store.close().await;

    let home = killed(50).await;
    fs::remove_file(home.file("hob.db.mark")).unwrap();
    let log = fs::read(home.file("hob.db-wal")).unwrap();
    fs::write(home.file("hob.db-wal"), &log[..log.len() / 2]).unwrap();
    let store = home.try_open(true).unwrap();
    let findings = store.status().findings;
    assert!(findings[0].contains("cannot be known"), "{findings:?}");
    assert!(!findings[0].contains("never ack"), "{findings:?}");
    store.close().await;
}

/// Reads the database as any other program would: the last to close it empties the log.
#[expect(clippy::disallowed_methods, reason = "the test is another program")]
fn read_as_another_program(home: &Home) {
    let sql = rusqlite::Connection::open(home.database()).unwrap();
    let epoch: i64 = sql
        .query_row("SELECT value FROM meta WHERE name = 'epoch'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(epoch > 0);
    sql.close().unwrap();
    assert!(!home.file("hob.db-wal").exists(), "the log was taken in");
}

#[tokio::test]
async fn a_log_that_another_program_took_in_is_no_loss() {
    let home = killed(40).await;
    read_as_another_program(&home);
    let verdict = Store::verify(&home.database(), &mut |_, _| {}).unwrap();
    assert!(verdict.sound, "{verdict:?}");
    assert_eq!(verdict.doubts, Vec::<String>::new());
    let store = home.try_open(true).unwrap();
    assert_eq!(store.messages("s").await.len(), 40);
    let status = store.status();
    assert_eq!(status.losses, Vec::<String>::new());
    assert!(status.findings[0].contains("Nothing is lost"), "{status:?}");
    store.close().await;
}

#[tokio::test]
async fn writes_without_an_event_are_missed_when_they_are_lost() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    store.send("s", "x").await;
    let before = home.remains();
    // A write that changes rows and tells nobody.
    let output = NewToolOutput {
        session: None,
        run: None,
        tool: "exec".to_owned(),
        is_cut: false,
        total_bytes_max: 1_000,
    };
    store.store_output(output, b"x".to_vec()).await.unwrap();
    let after = home.remains();
    store.close().await;
    for name in ["hob.db", "hob.db-wal"] {
        fs::copy(before.file(name), after.file(name)).unwrap();
    }
    let store = after.try_open(true).unwrap();
    let losses = store.status().losses;
    assert!(losses[0].contains("last 1 acknowledged"), "{losses:?}");
    store.close().await;
}

#[tokio::test]
async fn verify_tells_of_a_torn_log_without_touching_it() {
    let home = killed(10).await;
    let mut log = fs::read(home.file("hob.db-wal")).unwrap();
    log[9_000] ^= 1;
    fs::write(home.file("hob.db-wal"), &log).unwrap();
    let verdict = crate::support::verify(&home.database());
    assert_eq!(verdict.problems.len(), 1, "{verdict:?}");
    assert_eq!(fs::read(home.file("hob.db-wal")).unwrap(), log);
    let none = Home::new();
    let verdict = crate::support::verify(&none.database());
    assert!(verdict.problems.is_empty() && verdict.notes.len() == 1);
}

/// Overwrites a page in the middle of the database with noise.
fn rot(home: &Home) {
    let mut bytes = fs::read(home.database()).unwrap();
    let pages = bytes.len() / 4096;
    for page in 2..pages {
        let head = page * 4096;
        // The leaf pages of tables, where the rows are.
        if bytes[head] == 0x0D {
            bytes[head + 3..head + 64].fill(0xEE);
        }
    }
    fs::write(home.database(), bytes).unwrap();
}

#[tokio::test]
async fn rot_is_found_named_and_stops_writes() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    for number in 0..500 {
        store
            .send("s", &format!("m{number} {}", "x".repeat(100)))
            .await;
    }
    store.close().await;
    let sound = crate::support::verify(&home.database());
    assert_eq!(sound.problems, Vec::<String>::new());

    rot(&home);
    let verdict = crate::support::verify(&home.database());
    assert!(!verdict.problems.is_empty());
    match home.try_open(true) {
        // Rot may already stop the start.
        Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}"),
        Ok(store) => {
            while store.send_message(text_to("s", "x")).await.is_ok() {
                assert!(store.messages("s").await.len() < 10_000);
            }
            // Writes stop at once, and the check confirms why.
            wait_for("the check", || store.status().state == StoreState::Damaged).await;
            let error = store.send_message(text_to("s", "x")).await.unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
            let status = store.status();
            assert_eq!(status.state, StoreState::Damaged);
            assert!(status.message.unwrap().contains("hob.db"));
            store.close().await;
        }
    }
}

#[tokio::test]
async fn after_an_unclean_end_the_whole_file_is_looked_at() {
    let home = Home::new();
    let store = home.open();
    store.create("quiet").await;
    for number in 0..300 {
        let text = format!("m{number} {}", "x".repeat(300));
        store.send("quiet", &text).await;
    }
    store.close().await;
    let store = home.open();
    store.create("live").await;
    let remains = home.remains();
    store.close().await;
    // Pages nobody asks for rot while nobody looks: the last ones are messages.
    let mut bytes = fs::read(remains.database()).unwrap();
    let pages = bytes.len() / 4096;
    let mut rotten = 0;
    for page in (2..pages).rev() {
        let head = page * 4096;
        if bytes[head] == 0x0D && rotten < 4 {
            bytes[head + 5..head + 40].fill(0xEE);
            rotten += 1;
        }
    }
    fs::write(remains.database(), bytes).unwrap();
    let store = remains.try_open(true).unwrap();
    wait_for("the check", || store.status().state == StoreState::Damaged).await;
    let refused = store.send_message(text_to("live", "x")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    assert!(refused.to_string().contains("hob.db"));
    store.close().await;
}

/// What somebody did to a file of an open store.
#[derive(Clone, Copy, Debug)]
enum Tampering {
    Deleted,
    Moved,
    /// Another file with the same content stands in its place.
    Copied,
}

fn tamper(home: &Home, name: &str, tampering: Tampering) {
    let file = home.file(name);
    let aside = home.file("aside");
    match tampering {
        Tampering::Deleted => fs::remove_file(&file).unwrap(),
        Tampering::Moved => fs::rename(&file, &aside).unwrap(),
        Tampering::Copied => {
            fs::copy(&file, &aside).unwrap();
            fs::rename(&aside, &file).unwrap();
        }
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_once_a_file_is_not_the_one_that_was_opened() {
    for name in ["hob.db", "hob.db-wal", "hob.db.lock"] {
        for tampering in [Tampering::Deleted, Tampering::Moved, Tampering::Copied] {
            let home = Home::new();
            fs::write(home.file("hob.db.lock"), "1          lived\n").unwrap();
            let store = home.open();
            store.create("s").await;
            store.send("s", "before").await;
            tamper(&home, name, tampering);
            let refused = store.send_message(text_to("s", "after")).await.unwrap_err();
            let StoreError::Replaced { file } = &refused else {
                panic!("{name} {tampering:?}: {refused:?}");
            };
            assert_eq!(*file, home.file(name));
            assert_eq!(store.status().state, StoreState::Replaced);
            let again = store.send_message(text_to("s", "again")).await.unwrap_err();
            assert_eq!(again, refused, "it never becomes ready by itself");
            store.close().await;
        }
    }
}

#[tokio::test]
async fn an_idle_store_says_that_its_files_are_gone() {
    let home = Home::new();
    let store = home.open();
    store.create("s").await;
    assert_eq!(store.status().state, StoreState::Ready);
    fs::remove_file(home.database()).unwrap();
    let status = store.status();
    assert_eq!(status.state, StoreState::Replaced);
    let message = status.message.unwrap_or_default();
    assert!(message.contains("hob.db"), "{message}");
    store.close().await;
}
