//! `CommandRunner` behind real walls, at both levels of the sandbox. Each refusal stands beside the same
//! act, granted, which works.

use super::{House, house_running, start, words};
use crate::permissions::settings;
use hob_daemon::tool::CommandRunner;
use hob_exec::{SandboxLevel, SandboxSupport, Spawner, SpawnerParts};
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::permission::{Add, AnswerReach, RuleDecision, RuleTerms};
use hob_wire::rooms::tool::{Cancel, Preview, ToolCancelParams, ToolExecuteResult};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn shim() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_hob-daemon-rig").into()]
}

/// A house whose commands run at this level; the machine must have it.
pub(super) async fn house_at(level: SandboxLevel, text: &str) -> House {
    house_where(facts(level).await, text)
}

async fn facts(level: SandboxLevel) -> SandboxSupport {
    let outside = EnvVars::capture();
    let path = outside.os("PATH").expect("a path").to_owned();
    // Where bubblewrap is looked for decides the level.
    let search = match level {
        SandboxLevel::Bubblewrap => path,
        _ => OsString::new(),
    };
    let searched = EnvVars::from_pairs([("PATH", search)]);
    let facts = hob_exec::spawner::probe(&shim(), &searched).await;
    let facts = facts.expect("the shim answers");
    assert_eq!(facts.level(), level, "{}", facts.remedy());
    facts
}

/// A house on a machine that can enforce what `facts` say.
fn house_where(facts: SandboxSupport, text: &str) -> House {
    let outside = EnvVars::capture();
    let path = outside.os("PATH").expect("a path").to_owned();
    house_running(text, |fixture| {
        let env = [("PATH", path), ("HOB_CANARY", "canary-env".into())];
        let spawner = Spawner::new(SpawnerParts {
            shim: shim(),
            env: EnvVars::from_pairs(env),
            tasks: fixture.tasks.clone(),
            sandbox_support: Some(facts),
        });
        let web = hob_net::WebClient::new(hob_kit::clock::Clock::system());
        Some(CommandRunner::new(spawner, settings(text), None).with_web(web))
    })
}

pub(super) const LEVELS: [SandboxLevel; 2] = [SandboxLevel::Bubblewrap, SandboxLevel::Landlock];

/// Runs a command that a person approves.
pub(super) async fn exec(house: &House, call: &str, args: Value) -> ToolExecuteResult {
    let approved = house.approved(house.call(call, "exec", args)).await;
    house.execute(&approved).await.expect("is answered")
}

pub(super) fn metadata<'e>(executed: &'e ToolExecuteResult, name: &str) -> &'e Value {
    &executed.metadata.as_ref().expect("is there")[name]
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_with_its_real_exit_code() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let command = "cat a.txt; echo new > b.txt; echo oops >&2; exit 3";
        let done = exec(&house, "c1", json!({ "command": command })).await;
        assert_eq!(words(&done), "hello\n[stderr]\noops\n(exit code 3)");
        assert!(!done.is_error);
        assert_eq!(metadata(&done, "exitCode"), 3);
        assert_eq!(metadata(&done, "sandbox"), level.name());
        assert_eq!(metadata(&done, "cause"), "itself");
        let made = std::fs::read_to_string(house.workspace.path().join("b.txt"));
        assert_eq!(made.expect("was written"), "new\n");
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn a_person_sees_what_runs_and_a_changed_script_is_not_run() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    let script = house.workspace.path().join("go.sh");
    std::fs::write(&script, "echo tame\n").expect("writes");
    let call = || house.call("c1", "exec", json!({ "command": "bash go.sh" }));
    let approved = house.approved(call()).await;
    std::fs::write(&script, "echo wild > wild.txt\n").expect("writes");
    let refused = house.execute(&approved).await.expect_err("is refused");
    assert_eq!(refused.code, hob_wire::ErrorCode::Forbidden);
    assert!(!house.workspace.path().join("wild.txt").exists());
    let seen = house.fixture.caller().call::<Preview>(&call()).await;
    let text = seen.expect("is shown").text.expect("is shown");
    for part in [
        "[\"bash\",\"-c\",\"bash go.sh\"]",
        "sandbox: bubblewrap",
        "network: off",
        "echo wild > wild.txt",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_folder_below_the_workspace_is_where_it_runs_and_no_other() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    std::fs::create_dir(house.workspace.path().join("sub")).expect("made");
    let done = exec(&house, "c1", json!({ "command": "pwd", "cwd": "sub" })).await;
    assert!(words(&done).ends_with("/sub\n"), "{}", words(&done));
    // Without a rule nobody is asked about it (`cannot_run`); with one it is refused all the same.
    let terms = RuleTerms::new("exec", RuleDecision::Allow, AnswerReach::Always);
    let stored = house.fixture.caller().call::<Add>(&terms.into()).await;
    stored.expect("is stored");
    for cwd in ["..", "/", "/etc"] {
        let done = exec(&house, "c2", json!({ "command": "touch x", "cwd": cwd })).await;
        assert!(done.is_error && words(&done).contains("leads out of the workspace"));
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn walls_stand_at_both_levels() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let root = house.workspace.path();
        std::fs::create_dir_all(root.join("lib/.git/hooks")).expect("made");
        std::fs::create_dir_all(root.join(".git/hooks")).expect("made");
        let home = house.fixture.home.root().to_owned();
        std::fs::write(home.join("owner.token"), "canary-token").expect("writes");
        let command = format!(
            "cat {home}/owner.token; ls {home}/run; env; cat /proc/*/environ | tr '\\0' '\\n';
             echo x > .git/hooks/post; echo x > lib/.git/hooks/post; mkdir -p lib/new && echo ok > lib/new/a;
             echo x > /etc/hob-was-here; echo x > {home}/x; true",
            home = home.display()
        );
        let done = exec(&house, "c1", json!({ "command": command })).await;
        let text = words(&done);
        assert!(!text.contains("canary"), "{level:?}: {text}");
        assert!(!root.join(".git/hooks/post").exists(), "{level:?}");
        assert!(!root.join("lib/.git/hooks/post").exists(), "{level:?}");
        assert!(!home.join("x").exists(), "{level:?}");
        let made = std::fs::read_to_string(root.join("lib/new/a")).expect("is allowed");
        assert_eq!(made, "ok\n");
        let only = exec(
            &house,
            "c2",
            json!({ "command": "env | cut -d= -f1 | sort" }),
        )
        .await;
        let allowed = [
            hob_exec::environment::INHERITED,
            &["PWD", "SHLVL", "_", "OLDPWD"],
        ]
        .concat();
        for name in words(&only).lines() {
            assert!(allowed.contains(&name), "{level:?}: {name}");
        }
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn what_cannot_be_enforced_is_refused_with_the_remedy() {
    let mut weak = facts(SandboxLevel::Landlock).await;
    // Without read-only mounts, Landlock keeps no metadata.
    weak.namespaces = false;
    let mut none = weak.clone();
    none.landlock_abi = 0;
    for (facts, rule) in [(weak, "keep their modes and times"), (none, "a sandbox")] {
        let house = house_where(facts, "");
        let done = exec(&house, "c1", json!({ "command": "touch ran" })).await;
        let text = words(&done);
        assert!(done.is_error && text.contains(rule), "{text}");
        assert!(text.contains("apt install bubblewrap"), "{text}");
        assert!(!house.workspace.path().join("ran").exists());
        house.fixture.close().await;
    }
}

/// Whoever came to a listener.
fn reached(listener: &std::net::TcpListener) -> Option<std::net::SocketAddr> {
    listener.set_nonblocking(true).expect("is set");
    listener.accept().ok().map(|(_, peer)| peer)
}

#[tokio::test]
async fn a_network_that_makes_no_sense_is_refused_with_what_to_write() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    for (number, (args, says)) in [
        (json!({ "network": true, "hosts": ["*"] }), "leave"),
        (
            json!({ "network": true, "hosts": ["https://a.test"] }),
            "`hosts` takes",
        ),
        (json!({ "hosts": ["a.test"] }), "`hosts` limits"),
        (
            json!({ "network": "host", "hosts": ["a.test"] }),
            "`hosts` limits",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut args = args;
        args["command"] = json!("touch ran");
        let call = house.call(&format!("c{number}"), "exec", args.clone());
        let done = house
            .execute(&house.approved(call).await)
            .await
            .expect("is answered");
        let text = words(&done);
        let is_said = text.contains(says) || text.contains("`hosts` takes");
        assert!(done.is_error && is_said, "{args}: {text}");
    }
    assert!(!house.workspace.path().join("ran").exists());
    house.fixture.close().await;
}

#[tokio::test]
async fn the_network_is_off_unless_it_is_approved() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
        let port = listener.local_addr().expect("has one").port();
        let command = format!("echo hi > /dev/tcp/127.0.0.1/{port} && echo GOT");
        let off = exec(&house, "c1", json!({ "command": command })).await;
        assert!(!words(&off).contains("GOT"), "{level:?}: {}", words(&off));
        // Through the proxy nothing on this machine is reached, neither directly nor by it.
        let (held, holder) = (format!("{command}; true"), "c2");
        let on = json!({ "command": held, "network": true });
        let on = exec(&house, holder, on).await;
        let text = words(&on);
        assert!(!text.contains("GOT"), "{level:?}: {text}");
        assert!(
            text.contains("(network: through hob's proxy; programs"),
            "{text}"
        );
        let asked = format!("curl -s -m 20 http://127.0.0.1:{port}/; true");
        let on = json!({ "command": asked, "network": true, "hosts": ["127.0.0.1"] });
        let on = exec(&house, "c3", on).await;
        let text = words(&on);
        assert!(text.contains("web.private_hosts"), "{level:?}: {text}");
        assert!(
            text.contains(&format!("Refused hosts: 127.0.0.1:{port}")),
            "{text}"
        );
        assert_eq!(
            metadata(&on, "refusedHosts"),
            &json!([format!("127.0.0.1:{port}")])
        );
        assert!(reached(&listener).is_none(), "{level:?}");
        let on = json!({ "command": command, "network": "host" });
        let on = exec(&house, "c4", on).await;
        assert!(words(&on).contains("GOT"), "{level:?}: {}", words(&on));
        assert!(reached(&listener).is_some(), "{level:?}");
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn a_flood_is_bounded_and_its_whole_is_kept_up_to_the_limit() {
    let house = house_at(SandboxLevel::Bubblewrap, "[exec]\noutput_mib = 2\n").await;
    let command = "echo first; yes 0123456789abcdef | head -c 200M; echo; echo last";
    let done = exec(&house, "c1", json!({ "command": command })).await;
    let text = words(&done);
    assert!(text.len() < 80_000, "{}", text.len());
    assert!(text.starts_with("first\n") && text.contains("\nlast\n"));
    assert!(metadata(&done, "bytes").as_u64() > Some(200 * 1024 * 1024));
    let id = metadata(&done, "outputId").clone();
    let read = |call: &str, session: &str| {
        let args = json!({ "id": id, "line": 100_000, "lines": 3 });
        let mut call = house.call(call, "output", args);
        call.context.session_key = Some(session.to_owned());
        call
    };
    let mine = house.approved(read("c2", "chat:main")).await;
    let page = house.execute(&mine).await.expect("is answered");
    assert!(
        words(&page).starts_with("0123456789abcdef\n"),
        "{}",
        words(&page)
    );
    let others = house.approved(read("c3", "chat:other")).await;
    let refused = house.execute(&others).await.expect("is answered");
    assert!(refused.is_error, "{}", words(&refused));
    let blobs = std::fs::read_dir(house.fixture.home.blobs()).expect("listed");
    let kept: u64 = blobs
        .map(|blob| blob.expect("is one").metadata().expect("has").len())
        .sum();
    assert_eq!(kept, 2 * 1024 * 1024);
    house.fixture.close().await;
}

#[tokio::test]
async fn bytes_that_are_no_text_are_told_as_text() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    let command = "head -c 300000 /dev/urandom; printf 'a\\0b\\xff'";
    let done = exec(&house, "c1", json!({ "command": command })).await;
    assert_eq!(metadata(&done, "bytes"), 300_004);
    serde_json::to_string(&done).expect("is a message");
    house.fixture.close().await;
}

#[tokio::test]
async fn watchers_hear_of_a_call_in_order() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    let command = "for n in 1 2 3; do echo out $n; sleep 0.2; done; echo err >&2";
    let call = house
        .approved(house.call("c1", "exec", json!({ "command": command })))
        .await;
    let running = start(&house, call);
    let (_, started) = house.fixture.heard("tool.started").await;
    assert_eq!(started["tool"], "exec");
    assert_eq!(started["callId"], "c1");
    assert_eq!(started["args"]["command"], command);
    let (mut out, mut err) = (String::new(), String::new());
    let mut printed = 0;
    while err != "err\n" {
        let (_, piece) = house.fixture.heard("tool.output").await;
        let text = piece["text"].as_str().expect("is a text");
        assert_eq!(piece["offset"], printed, "{piece}");
        printed += text.len();
        assert!(piece["dropped"].is_null());
        match piece["stream"].as_str() {
            Some("stdout") => out.push_str(text),
            _ => err.push_str(text),
        }
    }
    assert_eq!(out, "out 1\nout 2\nout 3\n");
    let (_, finished) = house.fixture.heard("tool.finished").await;
    assert_eq!(finished["isError"], false);
    assert_eq!(finished["outputBytes"], printed);
    assert!(finished["durationMs"].as_u64() >= Some(500));
    running.await.expect("ends").expect("is answered");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let house = house_at(SandboxLevel::Bubblewrap, "").await;
    let command = "trap '' TERM; sleep 1000 & echo begun; sleep 1000";
    let begun = Instant::now();
    let done = exec(
        &house,
        "c1",
        json!({ "command": command, "timeoutMs": 500 }),
    )
    .await;
    assert!(begun.elapsed() < PATIENCE);
    assert!(
        done.is_error && words(&done).starts_with("begun\n"),
        "{}",
        words(&done)
    );
    assert!(
        words(&done).contains("took longer than 500 ms"),
        "{}",
        words(&done)
    );
    assert_eq!(metadata(&done, "cause"), "deadline");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_stopped_command_ends_and_says_how_far_it_came() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let args = json!({ "command": "echo begun; sleep 1000" });
        let call = house.approved(house.call("c1", "exec", args)).await;
        let context = call.context.clone();
        let running = start(&house, call);
        let (_, output) = house.fixture.heard("tool.output").await;
        assert_eq!(output["text"], "begun\n");
        let stop = ToolCancelParams {
            run_id: context.run_id.expect("a run"),
            call_id: context.call_id.expect("a call"),
        };
        let stopped = house.fixture.caller().call::<Cancel>(&stop).await;
        assert!(stopped.expect("is answered").stopped);
        let done = running.await.expect("ends").expect("is answered");
        assert!(
            done.is_error && words(&done).starts_with("begun\n"),
            "{}",
            words(&done)
        );
        assert_eq!(metadata(&done, "cause"), "cancelled");
        house.fixture.close().await;
    }
}
