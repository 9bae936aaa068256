//! Windows on a real display: opened, seen, and closed without touching anybody else's. Xvfb, xterm
//! and xwininfo must be there (`cargo xtask test` installs them).

#![expect(
    clippy::disallowed_methods,
    reason = "a display and somebody else's window, which are not hob's"
)]

use super::rig::{Rig, Terminal};
use crate::rig::{PATIENCE, until};
use hob_exec::tmux::TmuxNotice;
use hob_exec::windows::{self, Desktop, WindowError, WindowRequest};
use hob_kit::host_environment::EnvVars;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A display of the test's own; it ends with the test.
struct Screen {
    server: Child,
    name: String,
}

impl Screen {
    fn begin() -> Screen {
        let mut server = Command::new("Xvfb")
            .args([
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x800x24",
                "-nolisten",
                "tcp",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is not installed; run: apt install xvfb");
        // It writes its number when it takes windows.
        let mut number = String::new();
        let said = server.stdout.take().expect("piped");
        BufReader::new(said).read_line(&mut number).expect("said");
        let name = format!(":{}", number.trim());
        assert!(name.len() > 1, "Xvfb did not start");
        Screen { server, name }
    }

    /// What the display shows, by titles.
    fn shows(&self, title: &str) -> bool {
        let output = Command::new("xwininfo")
            .args(["-display", &self.name, "-root", "-tree"])
            .output()
            .expect("xwininfo is not installed; run: apt install x11-utils");
        String::from_utf8_lossy(&output.stdout).contains(&format!("\"{title}\""))
    }

    fn desktop(&self) -> Desktop {
        Desktop {
            x11: Some(self.name.clone()),
            ..Desktop::default()
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn env() -> EnvVars {
    let path = EnvVars::capture().os("PATH").expect("a path").to_owned();
    EnvVars::from_pairs([("PATH", path)])
}

fn opening(rig: &Rig, terminal: &Terminal, desktop: Desktop) -> WindowRequest {
    WindowRequest {
        name: terminal.session.name.clone(),
        folder: terminal.folder.clone(),
        attach: rig
            .server
            .attach_argv(&terminal.session.name)
            .expect("its folder is ours"),
        desktop,
        program: Some("xterm".to_owned()),
        setting: None,
    }
}

async fn attached(terminal: &mut Terminal, count: u32) {
    let told = async { while terminal.notices.next().await != TmuxNotice::Attached(count) {} };
    let told = tokio::time::timeout(PATIENCE, told).await;
    told.unwrap_or_else(|_| panic!("never {count} attached"));
}

#[tokio::test]
async fn a_window_is_opened_seen_and_closed_and_others_stay() {
    let screen = Screen::begin();
    let rig = Rig::new().await;
    let mut terminal = rig.terminal("main", "/bin/bash").await;
    let (program, window) = windows::open(&env(), opening(&rig, &terminal, screen.desktop()))
        .await
        .expect("opened");
    assert_eq!((program.name.as_str(), window.number), ("xterm", 1));
    attached(&mut terminal, 1).await;
    until("it is seen", || screen.shows("hob: main")).await;
    let clients = terminal.control.clients().await.expect("listed");
    assert_eq!(clients.len(), 1);
    assert_eq!(clients[0].pid, window.pid);
    assert_eq!(
        windows::list_opened(&terminal.folder).expect("read"),
        std::slice::from_ref(&window)
    );
    // What is typed there is seen in it, and it has the size of the window.
    let ran = terminal.run("size", "stty size").await;
    assert_eq!(ran.output, "23 80\r\n");
    // Somebody else's window on the same terminal.
    let mut foreign = Command::new("xterm")
        .args(["-display", &screen.name, "-T", "foreign", "-e"])
        .args(rig.server.attach_argv("main").expect("its folder is ours"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    attached(&mut terminal, 2).await;
    until("it is seen", || screen.shows("foreign")).await;
    assert!(terminal.control.detach(window.pid).await.expect("asked"));
    attached(&mut terminal, 1).await;
    until("it is closed", || !screen.shows("hob: main")).await;
    assert!(screen.shows("foreign"));
    assert!(foreign.try_wait().expect("ours").is_none());
    assert!(!terminal.control.detach(window.pid).await.expect("asked"));
    windows::forget(&terminal.folder, window.number).expect("forgotten");
    assert_eq!(windows::list_opened(&terminal.folder).expect("read"), []);
    assert_eq!(terminal.run("on", "echo on").await.output, "on\r\n");
    let _ = foreign.kill();
    let _ = foreign.wait();
}

#[tokio::test]
async fn without_a_display_or_a_program_a_sentence_says_so() {
    let rig = Rig::new().await;
    let terminal = rig.terminal("main", "/bin/bash").await;
    let open = async |env: &EnvVars, opening: WindowRequest| {
        windows::open(env, opening)
            .await
            .expect_err("no window")
            .to_string()
    };
    let said = open(&env(), opening(&rig, &terminal, Desktop::default())).await;
    assert_eq!(
        said,
        "There is no display here to open a window on; in a terminal of yours run: hob terminal attach main"
    );
    let nowhere = Desktop {
        x11: Some(":59999".to_owned()),
        ..Desktop::default()
    };
    let said = open(&env(), opening(&rig, &terminal, nowhere.clone())).await;
    assert!(
        said.starts_with("'xterm' opened no window: it ended at once"),
        "{said}"
    );
    let mut unnamed = opening(&rig, &terminal, nowhere);
    unnamed.program = None;
    let nothing = EnvVars::from_pairs([("PATH", PathBuf::from("/nowhere"))]);
    let said = open(&nothing, unnamed.clone()).await;
    assert!(said.contains("set terminal.window to yours"), "{said}");
    unnamed.setting = Some("/nowhere/term -e".to_owned());
    let error = windows::open(&env(), unnamed).await.expect_err("not there");
    assert!(matches!(error, WindowError::Named { .. }), "{error}");
    // A window that did not come up leaves nothing behind.
    assert_eq!(windows::list_opened(&terminal.folder).expect("read"), []);
    assert!(!terminal.folder.join("window.1").exists());
}
