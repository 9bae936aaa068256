//! What a sandboxed program cannot see, change or become (faults 67, 70, 75; hob's own home).

use crate::rig::{Rig, Stranger, facts, got, levels};
use hob_exec::{ExecError, SandboxLevel, SandboxMode, SandboxPolicy};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

#[tokio::test]
async fn the_system_is_read_only_and_the_workspace_is_not() {
    for rig in levels().await {
        let outside = rig
            .home()
            .parent()
            .expect("a parent")
            .join(".hob-exec-outside");
        let outside = outside.display();
        for path in [
            format!("{outside}"),
            "/etc/hob-x".into(),
            "/usr/hob-x".into(),
            "/var/tmp/hob-x".into(),
        ] {
            let exit = rig.sh(&format!("echo x > {path} && echo GOT")).await;
            assert!(!got(&exit), "{:?}: {path}", rig.level);
            assert!(!Path::new(&path).exists());
        }
        let script = "mkdir -p a/b && echo hello > a/b/c && mv a d && ln -s d e && cat e/b/c && rm -r d && ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null && echo GOT";
        let exit = rig.sh(script).await;
        assert!(got(&exit), "{:?}: {exit:#?}", rig.level);
        let exit = rig.sh("echo x > new; stat -c %a new").await;
        assert_eq!(exit.stdout.text().trim(), "644", "as a person's own files");
    }
}

#[tokio::test]
async fn the_home_of_hob_is_not_there() {
    for rig in levels().await {
        let home = rig.home().display();
        let _listens = UnixListener::bind(rig.home().join("hob.sock")).expect("bound");
        let acts = [
            format!("cat {home}/owner.token && echo GOT"),
            format!("ls -A {home} | grep token && echo GOT"),
            format!("cp -r {home} stolen && cat stolen/owner.token && echo GOT"),
            format!("ln -s {home} way && cat way/owner.token && echo GOT"),
            format!("cat /proc/1/root{home}/owner.token && echo GOT"),
            format!("cat /proc/self/root{home}/owner.token && echo GOT"),
            format!("cat /proc/*/cwd{home}/owner.token && echo GOT"),
            format!("touch {home}/planted && echo GOT"),
            format!("mv {home} {home}-away && echo GOT"),
            format!(
                "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"{home}/hob.sock\"); print(\"GOT\")'"
            ),
        ];
        for act in &acts {
            let exit = rig.sh(act).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
            assert!(
                !exit.stdout.text().contains("canary"),
                "{:?}: {act}",
                rig.level
            );
        }
        // With unix sockets granted the socket stays out of reach, because it cannot be seen.
        let exit = rig
            .sh_with(&acts[9], |policy| policy.unix_sockets = true)
            .await;
        assert!(!got(&exit), "{:?}: {exit:#?}", rig.level);
        for act in [&acts[0], &acts[1], &acts[9]] {
            let exit = rig.sh_with(act, |policy| {
                policy.hidden.clear();
                policy.unix_sockets = true;
            });
            let exit = exit.await;
            assert!(got(&exit), "control, {:?}: {act}\n{exit:#?}", rig.level);
        }
    }
}

#[tokio::test]
async fn a_home_inside_the_workspace_is_hidden_too() {
    for rig in levels().await {
        let inside = rig.work().join("deep/hob");
        fs::create_dir_all(&inside).expect("made");
        fs::write(inside.join("owner.token"), "canary").expect("written");
        let act = "cat deep/hob/owner.token && echo GOT";
        let exit = rig
            .sh_with(act, |policy| policy.hidden.push(inside.clone()))
            .await;
        assert!(!got(&exit), "{:?}: {exit:#?}", rig.level);
        assert!(got(&rig.sh(act).await), "control, {:?}", rig.level);
    }
}

#[tokio::test]
async fn git_and_what_starts_by_itself_stay_as_they_are() {
    for rig in levels().await {
        let root = rig.work();
        fs::create_dir_all(root.join(".git/hooks")).expect("made");
        fs::write(root.join(".git/config"), "[core]\n").expect("written");
        fs::create_dir_all(root.join(".config/autostart")).expect("made");
        fs::write(root.join(".bashrc"), "# mine\n").expect("written");
        let mut policy = rig.policy();
        let started = [".bashrc", ".zshrc", ".config/autostart", ".config/systemd"];
        policy.protected.extend(started.map(|name| root.join(name)));
        let acts = [
            "echo evil > .git/hooks/pre-commit && echo GOT",
            "echo evil >> .git/config && echo GOT",
            "rm .git/config && echo GOT",
            "mv .git .gone && echo GOT",
            "rm -rf .git; test -e .git/config || echo GOT",
            "chmod 777 .git/hooks && echo GOT",
            "ln -f /bin/sh .git/hooks/x && echo GOT",
            "echo evil >> .bashrc && echo GOT",
            "mv .bashrc x && echo GOT",
            "echo evil > x; mv -f x .bashrc && echo GOT",
            "echo evil > .zshrc && echo GOT",
            "echo evil > .config/autostart/x.desktop && echo GOT",
            "mv .config .c && mkdir -p .config/autostart && echo GOT",
            "mkdir -p .config/systemd/user && echo evil > .config/systemd/user/x.service && echo GOT",
        ];
        for act in acts {
            let plan = rig.plan_in(act, SandboxMode::Policy(policy.clone()));
            let exit = rig.run(plan).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
        }
        assert_eq!(
            fs::read_to_string(root.join(".bashrc")).expect("there"),
            "# mine\n"
        );
        assert!(!root.join(".zshrc").exists(), "no placeholder is left");
        let beside = "echo fine > .config/other && echo fine > .gitignore && echo GOT";
        let plan = rig.plan_in(beside, SandboxMode::Policy(policy.clone()));
        assert!(got(&rig.run(plan).await), "beside, {:?}", rig.level);
        for act in [acts[0], acts[7], acts[12]] {
            let exit = rig.sh_with(act, |policy| policy.protected.clear()).await;
            assert!(got(&exit), "control, {:?}: {act}\n{exit:#?}", rig.level);
        }
    }
}

#[tokio::test]
async fn a_repository_cannot_be_planted_where_there_is_none() {
    for rig in levels().await {
        let act = "mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout && echo GOT";
        assert!(!got(&rig.sh(act).await), "{:?}", rig.level);
        assert!(!got(&rig.sh("echo 'gitdir: x' > .git && echo GOT").await));
        assert!(!got(&rig
            .sh("rmdir .git; mkdir .git/hooks && echo GOT")
            .await));
        assert!(!rig.work().join(".git").exists(), "no placeholder is left");
        let exit = rig.sh_with(act, |policy| policy.protected.clear()).await;
        assert!(got(&exit), "control, {:?}", rig.level);
    }
}

/// Whoever is root outside owns these files inside; nothing but a read-only mount or Landlock
/// keeps them.
#[tokio::test]
async fn the_kernel_takes_no_orders() {
    for rig in levels().await {
        for file in ["sys/kernel/core_pattern", "sys/vm/swappiness"] {
            let exit = rig
                .sh(&format!("cat /proc/{file} > /proc/{file} && echo GOT"))
                .await;
            assert!(!got(&exit), "{:?}: {file}\n{exit:#?}", rig.level);
        }
        let exit = rig
            .sh("cat /proc/sys/kernel/core_pattern >/dev/null && echo GOT")
            .await;
        assert!(got(&exit), "control, {:?}: {exit:#?}", rig.level);
    }
}

#[tokio::test]
async fn only_listed_variables_and_no_other_process_s() {
    let secret = "HOB_CANARY_OUTSIDE=canary-outside";
    let other = Stranger::start();
    let environ = fs::read(format!("/proc/{}/environ", other.0.id())).expect("ours to read");
    let environ = String::from_utf8_lossy(&environ).into_owned();
    for rig in levels().await {
        let exit = rig
            .sh("env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/[0-9]*/task/*/environ")
            .await;
        assert!(
            !exit.stdout.text().contains("canary"),
            "{:?}: {exit:#?}",
            rig.level
        );
        let pid = other.0.id();
        for act in [
            format!("cat /proc/{pid}/environ && echo GOT"),
            format!("head -c 1 /proc/{pid}/mem && echo GOT"),
            format!("readlink /proc/{pid}/fd/0 && echo GOT"),
        ] {
            let exit = rig.sh(&act).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
        }
        let mut plan = rig.plan("env");
        plan.env.push(("GRANTED".into(), "canary-granted".into()));
        let exit = rig.run(plan).await;
        assert!(exit.stdout.text().contains("GRANTED=canary-granted"));
    }
    assert!(environ.contains(secret), "control: outside it can be read");
}

#[tokio::test]
async fn a_child_holds_three_descriptors() {
    for rig in levels().await {
        let exit = rig.sh("ls -l /proc/$$/fd").await;
        let text = exit.stdout.text();
        let held: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(" -> ") && !line.ends_with("/fd"))
            .collect();
        assert_eq!(held.len(), 3, "{:?}: {text}", rig.level);
        assert!(!text.contains("socket:"), "{:?}: {text}", rig.level);
    }
}

#[tokio::test]
async fn nobody_becomes_more_than_they_are() {
    let other = Stranger::start();
    let pid = other.0.id();
    let calls = |call: &str| {
        format!(
            "python3 -c 'import ctypes; c=ctypes.CDLL(None, use_errno=True); print(\"GOT\" if {call} >= 0 else \"no\")'"
        )
    };
    let refused_when_walled = [
        "unshare -Ur true && echo GOT".to_owned(),
        format!("kill -0 {pid} && echo GOT"),
        calls(&format!("c.syscall(101, 16, {pid}, 0, 0)")), // ptrace attach
        calls("c.unshare(0x10000000)"),                     // a user namespace
        calls("c.syscall(425, 8, ctypes.create_string_buffer(256))"), // io_uring_setup
        calls("c.syscall(321, 0, ctypes.create_string_buffer(128), 128)"), // bpf: make a map
    ];
    let refused_always_here = [
        "mount -t tmpfs none /mnt && echo GOT",
        "chroot / true && echo GOT",
        "mknod dev b 8 0 && head -c 1 dev && echo GOT",
        "echo 1 > /proc/sys/kernel/sysrq && echo GOT",
        "echo 0 > /proc/self/oom_score_adj && echo -1000 > /proc/self/oom_score_adj && echo GOT",
        "hostname evil && echo GOT",
        "cat /dev/mem /dev/sda /dev/vda | head -c 1 | grep -q . && echo GOT",
        "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo GOT",
        "grep -q 'CapBnd:.*[1-9a-f]' /proc/self/status && test $(id -u) = 0 && echo GOT",
        "grep -q 'NoNewPrivs:.0' /proc/self/status && echo GOT",
        "grep -q 'Seccomp:.0' /proc/self/status && echo GOT",
    ];
    for rig in levels().await {
        let all = refused_when_walled.iter().map(String::as_str);
        for act in all.chain(refused_always_here) {
            let exit = rig.sh(act).await;
            assert!(!got(&exit), "{:?}: {act}\n{exit:#?}", rig.level);
        }
        for act in &refused_when_walled[..4] {
            let exit = rig.sh_free(act).await;
            assert!(got(&exit), "control: {act}\n{exit:#?}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_enforced_is_refused_with_the_rule_and_the_remedy() {
    let mut facts = facts(SandboxLevel::Landlock).await;
    facts.namespaces = false;
    let rig = Rig::with(facts.clone());
    let error = rig
        .spawner
        .spawn(rig.plan("true"))
        .await
        .expect_err("refused");
    let ExecError::Unenforceable {
        rule,
        level,
        remedy,
    } = &error
    else {
        panic!("{error:?}");
    };
    // Whatever the policy: nothing but a read-only mount keeps modes and times.
    assert!(rule.contains("modes and times"), "{rule}");
    assert_eq!(*level, SandboxLevel::None);
    assert!(remedy.contains("apt install bubblewrap"), "{remedy}");
    assert!(remedy.contains("namespaces"), "{remedy}");
    let looking = SandboxPolicy::workspace(&[], None, Vec::new());
    let plan = rig.plan_in("true", SandboxMode::Policy(looking));
    rig.spawner.spawn(plan).await.expect_err("refused, too");

    facts.landlock_abi = 0;
    let rig = Rig::with(facts);
    let error = rig
        .spawner
        .spawn(rig.plan("true"))
        .await
        .expect_err("refused");
    assert!(matches!(
        error,
        ExecError::Unenforceable {
            level: SandboxLevel::None,
            ..
        }
    ));
}

#[tokio::test]
async fn a_bubblewrap_that_fails_is_an_error_and_not_an_exit_code() {
    let mut facts = facts(SandboxLevel::Bubblewrap).await;
    if facts.bubblewrap.is_none() {
        return;
    }
    facts.bubblewrap = Some("/bin/false".into());
    let rig = Rig::with(facts);
    let child = rig.spawn(rig.plan("echo GOT")).await;
    let error = child.wait().await.expect_err("no sandbox, no run");
    assert!(matches!(error, ExecError::Start(_)), "{error:?}");
}
