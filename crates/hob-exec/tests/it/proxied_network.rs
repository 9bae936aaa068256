//! A network whose only exit is the socket that the daemon accepts on (faults 68 and 69).

use crate::network::Ears;
use crate::rig::{Rig, alive, got, levels, mark, until};
use hob_exec::{Child, ChildExit, NetworkAccess, SandboxMode, SpawnPlan};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What every request to the stand-in for the proxy is answered with.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nGOT\n";

fn plan(rig: &Rig, script: &str) -> SpawnPlan {
    let mut policy = rig.policy();
    policy.network = NetworkAccess::Proxy;
    rig.plan_in(script, SandboxMode::Policy(policy))
}

/// Accepts on a child's socket until it ends; how many came.
fn serve(child: &Child) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let listener = child.take_listener().expect("was handed over");
    let listener = TcpListener::from_std(listener).expect("is one");
    let (counted, ended) = (Arc::clone(&count), child.ended());
    let accept = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(ANSWER).await;
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the stand-in ends with its child"
    )]
    tokio::spawn(async move {
        tokio::select! {
            () = accept => {}
            () = ended => {}
        }
    });
    count
}

/// Runs a script with such a network; how it ended, and how many came to the proxy.
async fn run(rig: &Rig, script: &str) -> (Arc<ChildExit>, usize) {
    let child = rig.spawn(plan(rig, script)).await;
    let count = serve(&child);
    let exit = child.wait().await.expect("is told");
    (exit, count.load(Ordering::SeqCst))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_is_reached_and_nothing_else_is() {
    for rig in levels().await {
        let level = rig.level;
        let ears = Ears::open(rig.work());
        for act in ears.internet() {
            let act = act.replace("curl ", "curl --noproxy '*' ");
            let (exit, _) = run(&rig, &act).await;
            assert!(
                !exit.stdout.text().contains("GOT"),
                "{level:?}: {act}: {exit:#?}"
            );
        }
        let (tcp, addresses) = (ears.tcp, "$(hostname -I) 0.0.0.0 192.0.2.1 8.8.8.8");
        let far = format!(
            "for a in {addresses}; do timeout 3 bash -c \"echo > /dev/tcp/$a/{tcp}\" && echo GOT; done; true"
        );
        let (exit, _) = run(&rig, &far).await;
        assert!(!got(&exit), "{level:?}: {exit:#?}");
        assert_eq!(ears.hits(), 0, "{level:?}");

        for act in [
            "curl -sS -m 20 http://anything.test/",
            "curl -sS -m 20 -x \"$ALL_PROXY\" http://127.0.0.1:1/",
            "exec 3<>/dev/tcp/127.0.0.1/3128; echo hello >&3; cat <&3",
        ] {
            let (exit, count) = run(&rig, act).await;
            assert!(
                got(&exit) && count == 1,
                "control, {level:?}: {act}: {exit:#?}"
            );
        }
        assert_eq!(ears.hits(), 0, "{level:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_inherits_nothing_of_it_and_may_change_nothing() {
    for rig in levels().await {
        let level = rig.level;
        let (exit, _) = run(&rig, "ls /proc/self/fd | sort -n | tr '\\n' ' '").await;
        // The three pipes, and the folder that `ls` reads.
        assert_eq!(exit.stdout.text().trim(), "0 1 2 3", "{level:?}: {exit:#?}");
        let (exit, _) = run(&rig, "grep -E 'Cap(Eff|Prm|Bnd|Amb)' /proc/self/status").await;
        let caps = exit.stdout.text();
        assert!(caps.lines().count() == 4, "{level:?}: {caps}");
        assert!(
            caps.lines().all(|line| line.ends_with("0000000000000000")),
            "{level:?}: {caps}"
        );
        for act in [
            "ip link set lo down && echo GOT",
            "ip link add dummy9 type dummy && echo GOT",
            "ip addr add 10.9.9.9/8 dev lo && echo GOT",
            "unshare -n true && echo GOT",
            "nsenter -t $PPID -n true && echo GOT",
        ] {
            let (exit, _) = run(&rig, act).await;
            assert!(!got(&exit), "{level:?}: {act}: {exit:#?}");
        }
        let (exit, _) = run(&rig, "cat /sys/class/net/*/operstate /proc/net/dev").await;
        let text = exit.stdout.text();
        assert!(
            !text.contains("eth0:") && text.contains("lo:"),
            "{level:?}: {text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_variables_are_ours_whatever_the_plan_says() {
    for rig in levels().await {
        let mut plan = plan(&rig, "env | grep -i proxy | sort");
        for name in ["NO_PROXY", "http_proxy", "ALL_PROXY"] {
            plan.env.push((name.into(), "canary".into()));
        }
        let child = rig.spawn(plan).await;
        let text = child.wait().await.expect("is told").stdout.text();
        assert!(!text.contains("canary"), "{text}");
        for line in [
            "ALL_PROXY=http://127.0.0.1:3128",
            "https_proxy=http://127.0.0.1:3128",
            "NO_PROXY=",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        let off = rig.sh("env | grep -i proxy").await;
        assert_eq!(off.stdout.text(), "", "no network, no proxy");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_at_the_same_time_have_the_same_port_and_not_each_others() {
    for rig in levels().await {
        let script = "sleep 0.5; curl -sS -m 20 http://a.test/; curl -sS -m 20 http://b.test/";
        let (one, other, third) =
            tokio::join!(run(&rig, script), run(&rig, script), run(&rig, script));
        for (exit, count) in [one, other, third] {
            assert!(
                got(&exit) && count == 2,
                "{:?}: {count} {exit:#?}",
                rig.level
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_with_a_network_leaves_behind_ends_with_it() {
    for rig in levels().await {
        let word = mark("proxied");
        let script = format!(
            "setsid bash -c 'exec -a {word} sleep 100' & sleep 0.3; curl -sS -m 20 http://a.test/"
        );
        let (exit, _) = run(&rig, &script).await;
        assert!(got(&exit), "{:?}: {exit:#?}", rig.level);
        until("all ended", || alive(&word) == 0).await;
        // A command that starts no program has no network, and says so.
        let mut missing = plan(&rig, "true");
        missing.argv = vec!["no-such-program-here".into()];
        assert!(rig.spawner.spawn(missing).await.is_err());
        // A signal and a status of the program's own come through unchanged.
        let (exit, _) = run(&rig, "exit 7").await;
        assert_eq!(exit.status.code(), 7, "{:?}", rig.level);
        let (exit, _) = run(&rig, "yes | head -n 1; echo ${PIPESTATUS[0]}").await;
        assert!(
            exit.stdout.text().contains("141"),
            "a closed pipe ends a program: {exit:#?}"
        );
    }
}
