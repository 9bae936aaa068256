//! Fault 46, where a home's path is too long for its sockets: the folder in `/tmp` that they lie in
//! instead was made by somebody else. The daemon has a `/tmp` of its own, so that no other is
//! disturbed.

use super::neighbours::as_nobody;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use rustix::process::getuid;
use serde_json::json;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Homes around the length from which `tmux.sock`, then `hob.sock`, no longer fit.
const LENGTHS: [usize; 5] = [92, 93, 94, 95, 96];
/// Where `tmux.sock` alone is elsewhere.
const TMUX_ELSEWHERE: usize = 94;
/// A short folder that is not `/tmp`.
const BELOW: &str = "/var/tmp";

#[test]
fn f46_a_planted_folder_of_sockets() {
    let trial = Trial::begin(46);
    if !getuid().is_root() || !Path::new(BELOW).is_dir() {
        return trial.not_run("only root has mounts of its own and gives folders away");
    }
    // What is allowed: nothing lies there, or what we left.
    for bytes in LENGTHS {
        let mut rig = rig(bytes, "true");
        rig.start();
        rig.rpc("daemon.status", &json!({}));
    }
    let mut rig = rig(TMUX_ELSEWHERE, "mkdir -m 700 /tmp/hob-0");
    rig.start();
    let mut peer = rig.peer();
    peer.must("terminal.create", &json!({}));
    let listed = peer.must("terminal.list", &json!({}));
    let socket = listed["socket"].as_str().expect("a socket");
    assert!(socket.starts_with("/tmp/hob-0/"), "{socket}");
    peer.must("terminal.close", &json!({ "name": "main" }));

    // Replaced while the daemon runs: it asks nobody there.
    let evidence = rig.scratch().join("evidence");
    let plant = format!(
        "rm -rf /tmp/hob-0 && mkdir -m 755 /tmp/hob-0 && {} && chown -R 65534 /tmp/hob-0",
        poisoned(socket, &evidence)
    );
    inside(&rig, &plant);
    let refused = peer.call("terminal.create", &json!({}));
    let refused = refused.expect("an answer").expect_err("it is not used");
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.contains("belongs to user 65534"), "{refused}");
    assert!(!evidence.exists(), "its settings were read");
    drop(rig);

    let mut refused = 1;
    for bytes in [TMUX_ELSEWHERE, 95, 150] {
        for (plant, why) in [
            (
                "mkdir -m 700 /tmp/hob-0 && chown 65534 /tmp/hob-0",
                "belongs to user 65534",
            ),
            (
                "mkdir -m 777 /tmp/hob-0 && chown 65534 /tmp/hob-0",
                "belongs to user 65534",
            ),
            (
                "mkdir -m 700 /tmp/x && ln -s /tmp/x /tmp/hob-0",
                "not a folder",
            ),
            ("ln -s /tmp/nothing /tmp/hob-0", "not a folder"),
            ("touch /tmp/hob-0", "not a folder"),
            (
                "mkdir -m 777 /tmp/hob-0 && chmod 777 /tmp/hob-0",
                "mode is 777",
            ),
            ("mkdir -m 755 /tmp/hob-0", "mode is 755"),
            ("chmod 777 /tmp", "other users may replace it"),
        ] {
            let mut rig = self::rig(bytes, plant);
            let ended = rig.try_start().expect_err("it must not start");
            assert!(ended.stderr.contains(why), "{plant}: {}", ended.stderr);
            assert!(ended.stderr.contains("HOB_HOME"), "{}", ended.stderr);
            refused += 1;
        }
    }
    trial.figure("planted_folders_used", format_args!("0/{refused}"));
    nobody_gets_the_token();
}

/// A daemon that was killed leaves a path behind, and another user listens there: a client shows
/// them nothing.
fn nobody_gets_the_token() {
    let mut rig = Rig::new();
    rig.start();
    let mut state = rig.state();
    rig.kill();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(rig.scratch(), open).expect("is ours");
    let socket = rig.scratch().join("planted.sock");
    let planted = socket.clone();
    let listener = as_nobody(move || UnixListener::bind(planted).expect("a socket"));
    state["socket"] = json!(socket);
    let file = rig.home().join("run/daemon.json");
    std::fs::write(file, state.to_string()).expect("is ours");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client comes");
        let mut text = String::new();
        let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
        let _ = stream.read_to_string(&mut text);
        text
    });
    let ended = rig.hob(&["rpc", "daemon.status", "{}"]);
    assert!(!ended.status.success(), "{ended:?}");
    assert!(ended.stderr.contains("another user listens"), "{ended:?}");
    assert_eq!(
        heard.join().expect("a listener"),
        "",
        "what they were shown"
    );
}

/// A daemon with a home of so many bytes and a `/tmp` of its own, in which `plant` ran first.
fn rig(bytes: usize, plant: &str) -> Rig {
    let mut rig = Rig::below(Path::new(BELOW));
    rig.stretch_home(bytes);
    std::fs::create_dir_all(rig.home()).expect("a folder");
    let config = "[llm]\nservers = []\n\n[terminal]\nshell = \"/bin/sh\"\n";
    std::fs::write(rig.home().join("config.toml"), config).expect("a file");
    let script =
        format!("mount -t tmpfs -o mode=1777 tmpfs /tmp && umask 022 && {plant} && exec \"$@\"");
    let unshared = ["unshare", "-m", "--propagation", "private"];
    let launcher = [unshared.as_slice(), &["sh", "-c", &script, "sh"]].concat();
    rig.launcher(&launcher);
    rig
}

/// A line that writes settings beside a socket, which leave something behind if tmux reads them.
fn poisoned(socket: &str, evidence: &Path) -> String {
    let config = socket.replace(".sock", ".conf");
    format!(
        "echo 'run-shell \"touch {}\"' > {config}",
        evidence.display()
    )
}

/// Runs a line in the daemon's own `/tmp`.
fn inside(rig: &Rig, line: &str) {
    let pid = rig.pid().to_string();
    let status = Command::new("nsenter")
        .args(["-t", &pid, "-m", "sh", "-c", line])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{line}");
}
