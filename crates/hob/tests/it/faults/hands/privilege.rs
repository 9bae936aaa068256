//! Faults 70, 75 and 104: a command that reaches for more power, for what hob knows, or for hob
//! itself: its token, its socket, its own permission.

use super::tools::{CANARY, LEVELS, Tools, call};
use crate::faults::trial::Trial;
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

#[test]
fn f70_escape_by_privilege() {
    let trial = Trial::begin(70);
    let mut tries = 0;
    let mut successes: Vec<String> = Vec::new();
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &[]);
        let status =
            tools.exec("grep -E 'NoNewPrivs|CapEff|CapPrm|CapBnd|CapAmb' /proc/self/status");
        for line in status.text.lines().filter(|line| line.contains(':')) {
            let (name, value) = line.split_once(':').expect("a field");
            let wanted = if name == "NoNewPrivs" {
                "1"
            } else {
                "0000000000000000"
            };
            let is_bounding = name == "CapBnd" && level == "landlock";
            assert!(value.trim() == wanted || is_bounding, "{level}: {line}");
        }
        let outside = tools.outside.display().to_string();
        let before = metadata(&tools.outside.join("secret.txt"));
        let pid = tools.rig.pid();
        for attack in [
            format!("kill -9 {pid}"),
            format!("python3 -c \"import os; os.kill({pid}, 9)\""),
            format!(
                "python3 -c \"import ctypes,sys; l=ctypes.CDLL(None); \
                 sys.exit(0 if l.ptrace(16,{pid},0,0)==0 else 1)\""
            ),
            format!("cat /proc/{pid}/environ /proc/{pid}/mem"),
            format!("ls -l /proc/{pid}/fd/ | grep -E 'hob|db'"),
            "mount -t tmpfs none /mnt".to_owned(),
            "unshare -Urm bash -c 'mount -t tmpfs none /mnt'".to_owned(),
            "unshare -m true".to_owned(),
            "chroot / true".to_owned(),
            "mknod disk b 8 0".to_owned(),
            "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern".to_owned(),
            "setpriv --reuid 12345 true && chown 12345 inside.txt".to_owned(),
            "su -c true nobody".to_owned(),
            "cp /bin/true mine && chown root mine && chmod 4755 mine && \
             python3 -c \"import os; os.setuid(0); os.chroot('/')\""
                .to_owned(),
            "nsenter -t 1 -m true".to_owned(),
            "insmod nothing.ko; modprobe dummy".to_owned(),
            "python3 -c \"import ctypes,sys; l=ctypes.CDLL(None); \
             sys.exit(0 if l.syscall(321,0,0,0)>=0 else 1)\""
                .to_owned(),
            "python3 -c \"import ctypes,sys; l=ctypes.CDLL(None); \
             sys.exit(0 if l.syscall(248,b'user',b'x',b'y',1,-3)>=0 else 1)\""
                .to_owned(),
            format!("touch {outside}/mine"),
            format!("ln {outside}/secret.txt hard && echo mine > hard"),
            format!("mv {outside}/secret.txt ."),
            // Landlock does not govern metadata.
            format!("chmod 644 {outside}/secret.txt"),
            format!("chmod 640 /proc/{pid}/root{outside}/secret.txt"),
            format!("touch -d 2001-02-03 {outside}/secret.txt"),
            format!("chgrp $(id -g) {outside}/secret.txt"),
            format!("chattr +A {outside}/secret.txt"),
            format!("python3 -c \"import os; os.setxattr('{outside}/secret.txt','user.x',b'x')\""),
            "echo evil > /etc/hob-fault-70".to_owned(),
            ": >> ~/.bashrc".to_owned(),
            "echo evil > /usr/local/bin/hob-fault-70".to_owned(),
        ] {
            tries += 1;
            let said = tools.exec(&attack);
            if said.metadata["exitCode"] == 0 {
                successes.push(format!("{level}: {attack}: {said:?}"));
            }
        }
        assert!(tools.rig.lives(), "the daemon was ended");
        let names = fs::read_dir(&tools.outside).expect("a folder").count();
        let secret = fs::read_to_string(tools.outside.join("secret.txt"));
        assert_eq!((names, secret.ok().as_deref()), (1, Some(CANARY)));
        assert_eq!(
            metadata(&tools.outside.join("secret.txt")),
            before,
            "{level}"
        );
        let said = tools.exec(
            "sleep 60 & kill $!; chmod 700 inside.txt && touch -d 2001-02-03 inside.txt && \
             python3 -c \"import os; os.setxattr('inside.txt','user.x',b'x')\" && \
             echo own things are fine",
        );
        assert!(said.text.contains("own things are fine"), "{said:?}");
    }
    trial.figure("tries", tries);
    assert!(successes.is_empty(), "{successes:#?}");
    trial.figure("successes", successes.len());
}

/// Mode and times; every change of metadata touches the last of them.
fn metadata(file: &Path) -> (u32, i64, i64, i64) {
    let found = fs::symlink_metadata(file).expect("there");
    (
        found.mode(),
        found.mtime(),
        found.ctime(),
        found.ctime_nsec(),
    )
}

#[test]
fn f75_environment_leak() {
    const SECRET: &str = "canary-75-a-key";
    let trial = Trial::begin(75);
    let env = [
        ("OPENAI_API_KEY", SECRET),
        ("ANTHROPIC_API_KEY", SECRET),
        ("HOB_LOG_LEVEL", "info"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("SSH_AUTH_SOCK", SECRET),
        ("LD_PRELOAD_OF_MINE", SECRET),
        ("LANG", "C.UTF-8"),
    ];
    let mut tries = 0;
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &env);
        for attack in [
            "env",
            "export -p; set",
            "cat /proc/*/environ | tr '\\0' '\\n'",
            "cat /proc/1/environ /proc/self/environ /proc/$PPID/environ | tr '\\0' '\\n'",
            "cat /proc/*/cmdline | tr '\\0' '\\n'",
            "python3 -c \"import os; print(os.environ)\"",
            "bash -lc env",
            "strings /proc/*/mem 2>/dev/null | grep canary-75-a | head -3; true",
        ] {
            tries += 1;
            let said = tools.exec(attack);
            assert!(!said.text.contains(SECRET), "{level}: {attack}: {said:?}");
        }
        let said = tools.exec("env");
        assert!(!said.text.contains("HOB_"), "{level}: {said:?}");
        assert!(said.text.contains("LANG=C.UTF-8"), "{level}: {said:?}");
    }
    trial.figure("tries", tries);
    trial.figure("canary_hits", 0);
}

/// The same home, in the workspace itself and under a second name. Gives how much was tried.
fn other_names(tools: &mut Tools, token: &str) -> usize {
    let mut peer = tools.rig.peer();
    let around = tools.rig.scratch().to_owned();
    let exec =
        |peer: &mut _, command: &str| call(peer, &around, "exec", &json!({ "command": command }));
    let attacks = [
        "mv home elsewhere; cat elsewhere/owner.token",
        "cat home/owner.token",
        "grep -rs hob_ home; ln home/owner.token mine && cat mine",
        "grep -rsF owner.token --include=owner.token . ; find . -name owner.token | xargs -r cat",
    ];
    for attack in attacks {
        let said = exec(&mut peer, attack);
        assert!(!said.text.contains(token), "{attack}: {said:?}");
    }
    let said = exec(&mut peer, "echo fine > beside && cat beside");
    assert!(said.text.contains("fine"), "control: {said:?}");
    // A name that was made outside, before: nothing runs until it is gone.
    let prepared = tools.workspace.join("prepared");
    fs::hard_link(tools.rig.home().join("owner.token"), &prepared).expect("a link");
    let said = tools.exec("cat prepared");
    assert!(said.failed && said.text.contains("hard link"), "{said:?}");
    assert!(!said.text.contains(token), "{said:?}");
    fs::remove_file(prepared).expect("removed");
    attacks.len() + 1
}

#[test]
fn f104_a_child_that_reaches_for_hob() {
    let trial = Trial::begin(104);
    let mut tries = 0;
    let mut successes: Vec<String> = Vec::new();
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &[]);
        let home = tools.rig.home().display().to_string();
        let socket = tools.rig.socket().display().to_string();
        let (token, port) = (tools.rig.token(), tools.rig.port());
        let pid = tools.rig.pid();
        let hob = env!("CARGO_BIN_EXE_hob");
        let auth = format!(
            "{{\\\"type\\\":\\\"req\\\",\\\"id\\\":\\\"1\\\",\\\"target\\\":\\\"\\\",\
             \\\"method\\\":\\\"gateway.auth\\\",\\\"params\\\":{{\\\"token\\\":\\\"{token}\\\"}}}}"
        );
        for attack in [
            format!("cat {home}/owner.token"),
            format!("ls -A {home}"),
            // Other homes of this machine are not hidden from us; ours must not be among them.
            format!(
                "find / -name owner.token -readable 2>/dev/null | xargs -r grep -sF {}",
                &token[..16]
            ),
            format!("grep -rs {} {home} /tmp /run", &token[..16]),
            format!("cat {home}/config.toml"),
            format!("cp -r {home} stolen && ls -A stolen"),
            format!("cat {home}/../home/owner.token"),
            format!("ln -s {home} door; cat door/owner.token"),
            format!("echo 'mode = \"full\"' >> {home}/config.toml"),
            format!("rm -rf {home}"),
            format!("chmod 644 {home}/owner.token && echo changed"),
            format!("chmod 644 /proc/{pid}/root{home}/owner.token && echo changed"),
            format!("chmod 644 /proc/{pid}/cwd/owner.token && echo changed"),
            format!("mv {home} elsewhere"),
            format!(
                "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); \
                 s.connect('{socket}'); s.sendall(b'{auth}\\n'); print(s.recv(999))\""
            ),
            // Even with the token in hand, the port is out of reach.
            format!(
                "curl -s --max-time 3 -H 'Authorization: Bearer {token}' http://127.0.0.1:{port}/health"
            ),
            format!("HOB_HOME={home} HOB_AUTOSTART=0 {hob} permission pending"),
            format!("HOB_HOME={home} HOB_AUTOSTART=0 {hob} permission answer 1 y"),
            format!(
                "HOB_HOME={home} HOB_AUTOSTART=0 {hob} permission add --tool exec \
                 --decision allow --scope always"
            ),
        ] {
            tries += 1;
            let said = tools.exec(&attack);
            let seen = said.text.contains(&token) || said.text.contains("\"ok\":true");
            let learnt = said.metadata["exitCode"] == 0 && said.text != "(no output)";
            if seen || learnt {
                successes.push(format!("{level}: {attack}: {said:?}"));
            }
        }
        assert_eq!(tools.rig.token(), token, "the token is still there");
        let mode = metadata(&tools.rig.home().join("owner.token")).0 & 0o777;
        assert_eq!(mode, 0o600, "{level}: the token is still private");
        tries += other_names(&mut tools, &token);
        let mut peer = tools.rig.peer();
        let rules = peer.must("permission.list", &serde_json::json!({}));
        assert_eq!(rules["rules"], serde_json::json!([]), "{rules}");
        let said = tools.exec("cat inside.txt");
        assert!(said.text.contains("inside words"), "{said:?}");
    }
    trial.figure("tries", tries);
    assert!(successes.is_empty(), "{successes:#?}");
    trial.figure("successes", successes.len());
}
