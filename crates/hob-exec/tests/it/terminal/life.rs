//! The life of terminals: made, listed, recorded, resized, attached, and gone in every way.

use super::rig::{KEY, Rig, Terminal, find, hand};
use crate::rig::{PATIENCE, until};
use hob_exec::tmux::foreground::{self, Foreground};
use hob_exec::tmux::recording::{RecordedPiece, RecordingReader};
use hob_exec::tmux::{TmuxError, TmuxNotice, shells};
use rustix::process::Signal;

async fn notice(terminal: &mut Terminal) -> TmuxNotice {
    let notice = tokio::time::timeout(PATIENCE, terminal.notices.next()).await;
    notice.expect("noticed")
}

async fn gone(terminal: &mut Terminal) -> String {
    loop {
        if let TmuxNotice::Gone(reason) = notice(terminal).await {
            return reason;
        }
    }
}

/// Reads to the end of the recording.
async fn rest(terminal: &mut Terminal) -> Vec<u8> {
    let mut rest = Vec::new();
    loop {
        let piece = tokio::time::timeout(PATIENCE, terminal.reader.next()).await;
        match piece.expect("in time").expect("readable") {
            RecordedPiece::Bytes(bytes) => rest.extend(bytes),
            RecordedPiece::Skipped(_) => {}
            RecordedPiece::Ended => return rest,
        }
    }
}

#[tokio::test]
async fn terminals_are_made_once_listed_and_found_again() {
    let rig = Rig::new().await;
    assert_eq!(rig.server.sessions().await.expect("listed"), []);
    assert!(matches!(
        rig.server.connect("a").await,
        Err(TmuxError::Refused(_) | TmuxError::Gone(_))
    ));
    let one = rig.terminal("a", "/bin/bash").await;
    let mut two = rig.terminal("ab", "/bin/bash").await;
    let found = rig.server.sessions().await.expect("listed");
    assert_eq!(found, [one.session.clone(), two.session.clone()]);
    let again = rig.server.create(rig.new_terminal("a", "/bin/bash")).await;
    assert!(matches!(again, Err(TmuxError::Exists(name)) if name == "a"));
    assert!(
        matches!(rig.server.connect("b").await, Err(TmuxError::NoSession(name)) if name == "b")
    );
    // What a person opens beside them in the same server is theirs.
    rig.tmux(&["new-session", "-d", "-s", "own"]);
    rig.tmux(&["split-window", "-d", "-t", "=a:"]);
    let names = |found: Vec<hob_exec::tmux::TmuxSession>| -> Vec<String> {
        found.into_iter().map(|session| session.name).collect()
    };
    assert_eq!(
        names(rig.server.sessions().await.expect("listed")),
        ["a", "ab"]
    );
    one.control.kill().await.expect("ended");
    until("one is gone", || {
        rig.tmux(&["has-session", "-t", "=a"]).is_empty()
    })
    .await;
    assert_eq!(names(rig.server.sessions().await.expect("listed")), ["ab"]);
    assert_eq!(two.run("x", "echo on").await.output, "on\r\n");
}

#[tokio::test]
async fn the_recorder_goes_on_while_nobody_reads_and_a_reader_resumes() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let offset = terminal.reader.offset();
    let (folder, control) = (terminal.folder.clone(), terminal.control.clone());
    drop(terminal);
    hand(&folder)
        .hand_over("away", "seq 1 200000; echo done")
        .expect("written");
    control.nudge().await.expect("sent");
    drop(control);
    // Nobody of hob's is connected now.
    let wanted = format!("\x1b]7717;{KEY};D;away;0;");
    let mut reader = RecordingReader::open(&folder, offset).expect("there");
    let mut said = Vec::new();
    while find(&said, wanted.as_bytes()).is_none() {
        let piece = tokio::time::timeout(PATIENCE, reader.next()).await;
        match piece.expect("in time").expect("readable") {
            RecordedPiece::Bytes(bytes) => said.extend(bytes),
            other => panic!("{other:?}"),
        }
    }
    let lines = String::from_utf8_lossy(&said)
        .lines()
        .filter(|line| line.parse::<u32>().is_ok())
        .count();
    // The first line stands behind the mark of the beginning.
    assert_eq!(lines, 199_999);
    let session = &rig.server.sessions().await.expect("listed")[0];
    assert!(session.is_recorded);
    let (control, notices) = rig.connect("main").await;
    terminal = Terminal::again(session.clone(), control, notices, reader, folder);
    assert_eq!(terminal.run("back", "echo back").await.output, "back\r\n");
}

#[tokio::test]
async fn a_recorder_that_is_killed_is_started_again() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let lock = terminal.folder.join("recording.lock");
    rig.tmux(&["pipe-pane", "-t", &terminal.session.pane]);
    until("it is let go", || {
        let file = std::fs::File::open(&lock).expect("there");
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    })
    .await;
    assert!(!rig.server.sessions().await.expect("listed")[0].is_recorded);
    terminal
        .control
        .restart_recording(&terminal.folder)
        .await
        .expect("recorded");
    assert!(rig.server.sessions().await.expect("listed")[0].is_recorded);
    assert_eq!(terminal.run("on", "echo on").await.output, "on\r\n");
    // Without anybody saying so as well: a change of the layout makes the connection look.
    rig.tmux(&["pipe-pane", "-t", &terminal.session.pane]);
    rig.tmux(&["resize-window", "-t", "=main:", "-x", "90", "-y", "20"]);
    assert_eq!(
        notice(&mut terminal).await,
        TmuxNotice::Resized {
            columns: 90,
            rows: 20
        }
    );
    let begun = std::time::Instant::now();
    while !rig.server.sessions().await.expect("listed")[0].is_recorded {
        assert!(begun.elapsed() < PATIENCE, "never recorded again");
    }
}

#[tokio::test]
async fn sizes_are_set_and_told() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    assert_eq!(terminal.run("a", "stty size").await.output, "25 100\r\n");
    terminal.control.resize(132, 43).await.expect("resized");
    assert_eq!(
        notice(&mut terminal).await,
        TmuxNotice::Resized {
            columns: 132,
            rows: 43
        }
    );
    assert_eq!(terminal.run("b", "stty size").await.output, "43 132\r\n");
}

#[tokio::test]
async fn the_end_of_a_shell_is_told_with_its_status() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    terminal.hand_over("last", "exit 7").await;
    assert_eq!(terminal.mark_of("X;").await, "7");
    rest(&mut terminal).await;
    gone(&mut terminal).await;
    assert_eq!(rig.server.sessions().await.expect("none"), []);
    assert!(matches!(
        terminal.control.type_text("x").await,
        Err(TmuxError::Gone(_))
    ));
}

#[tokio::test]
async fn a_pane_that_is_killed_and_a_server_that_is_killed_are_told() {
    let rig = Rig::new().await;
    let mut one = rig.terminal("one", "/bin/bash").await;
    let mut two = rig.terminal("two", "/bin/bash").await;
    let mut split = rig.terminal("split", "/bin/bash").await;
    rig.tmux(&["split-window", "-d", "-t", "=split:"]);
    rig.tmux(&["kill-pane", "-t", &one.session.pane]);
    rest(&mut one).await;
    gone(&mut one).await;
    // Its window lives on with the person's own pane; the terminal does not.
    rig.tmux(&["kill-pane", "-t", &split.session.pane]);
    rest(&mut split).await;
    assert_eq!(gone(&mut split).await, "its shell has ended");
    assert_eq!(rig.server.sessions().await.expect("listed").len(), 1);
    let pid: i32 = rig
        .tmux(&["display-message", "-p", "#{pid}"])
        .trim()
        .parse()
        .expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, Signal::KILL).expect("killed");
    rest(&mut two).await;
    gone(&mut two).await;
    assert_eq!(rig.server.sessions().await.expect("none"), []);
    // The socket that is left behind is in nobody's way.
    let mut again = rig.terminal("three", "/bin/bash").await;
    assert_eq!(again.run("x", "echo new").await.output, "new\r\n");
}

#[tokio::test]
async fn the_foreground_is_ended_and_the_shell_is_not() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let shell = terminal.session.shell_pid;
    assert_eq!(
        foreground::foreground_of(shell).expect("known"),
        Foreground::Shell
    );
    assert!(!foreground::signal_foreground(shell, Signal::KILL).expect("known"));
    terminal
        .hand_over(
            "deaf",
            "sh -c 'trap \"\" INT TERM; echo deaf; sleep 1000; sleep 1000'",
        )
        .await;
    terminal.mark_of("C;deaf").await;
    terminal.sees("deaf\r\n").await;
    terminal
        .control
        .press_keys(&["C-c".into()])
        .await
        .expect("pressed");
    assert!(foreground::signal_foreground(shell, Signal::TERM).expect("known"));
    assert!(foreground::signal_foreground(shell, Signal::KILL).expect("known"));
    assert_eq!(terminal.ended().await.status, 137);
    terminal.prompt().await;
    assert_eq!(terminal.run("on", "echo on").await.output, "on\r\n");
}

#[tokio::test]
async fn the_server_and_its_shells_outlive_whoever_started_them() {
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    rig.tasks.finish(PATIENCE).await;
    gone(&mut terminal).await;
    // A session of its own for the server, and no descriptor of this program.
    let server: i32 = rig
        .tmux(&["display-message", "-p", "#{pid}"])
        .trim()
        .parse()
        .expect("a number");
    let raw = rustix::process::Pid::from_raw(server).expect("a process");
    let session = rustix::process::getsid(Some(raw)).expect("it lives");
    assert_eq!(session.as_raw_nonzero().get(), server);
    let folder = rig.folder.path().to_string_lossy().into_owned();
    for entry in std::fs::read_dir(format!("/proc/{server}/fd")).expect("ours") {
        let target = std::fs::read_link(entry.expect("there").path()).unwrap_or_default();
        let target = target.to_string_lossy().into_owned();
        let is_its_own = [
            "socket:",
            "pipe:",
            "/dev/null",
            "/dev/ptmx",
            "/dev/pts",
            "anon_inode:",
            "/dev/tty",
        ]
        .iter()
        .any(|kind| target.starts_with(kind));
        assert!(is_its_own && !target.starts_with(&folder), "{target}");
    }
    assert_eq!(rig.server.sessions().await.expect("listed").len(), 1);
}

#[tokio::test]
async fn a_command_that_waits_in_memory_is_the_persons_alone_and_survives_its_folder_being_cleared()
{
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let next = terminal.folder.join("next");
    let Ok(place) = std::fs::read_link(&next) else {
        // This machine keeps no files in memory; then it lies in the folder itself.
        assert!(next.is_file());
        return;
    };
    for path in [place.as_path(), place.parent().expect("has one")] {
        let found = std::fs::metadata(path).expect("there");
        assert_eq!(found.permissions().mode() & 0o077, 0, "{}", path.display());
        assert_eq!(found.uid(), rustix::process::getuid().as_raw());
    }
    // As when a person logs out and what is in memory is cleared.
    std::fs::remove_file(&place).expect("removed");
    assert_eq!(hand(&terminal.folder).untaken().expect("none"), None);
    assert_eq!(terminal.run("a", "echo again").await.output, "again\r\n");
    hand(&terminal.folder)
        .hand_over("b", "echo no")
        .expect("written");
    hand(&terminal.folder).withdraw().expect("taken back");
    terminal.control.nudge().await.expect("sent");
    assert_eq!(terminal.run("c", "echo c").await.output, "c\r\n");
    shells::discard(&terminal.folder).expect("removed");
    assert!(!place.exists() && !next.exists());
    // What belonged to a home that somebody removed goes with the next terminal.
    let other = rig.terminal("other", "/bin/bash").await;
    let place = std::fs::read_link(other.folder.join("next")).expect("a link");
    std::fs::remove_dir_all(&other.folder).expect("removed");
    assert!(place.exists());
    let _another = rig.terminal("another", "/bin/bash").await;
    assert!(!place.exists());
}
