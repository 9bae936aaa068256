//! `CommandRunner` that a person set, and what a person granted with them: walls, bounds, stops, rules.

use crate::fixture::{Fixture, code};
use crate::permissions::{house_with, settings};
use hob_bus::RequestContext;
use hob_daemon::grants::{self, GrantOwner, GrantPlanner};
use hob_daemon::scheduled_command::{
    OUTPUT_BYTES_MAX, ScheduledCommand, ScheduledCommandRunner, record_command,
};
use hob_daemon::tool::CommandRunner;
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::clock::Clock;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_store::NewLoopRow;
use hob_wire::rooms::audit::AuditListParams as AuditParams;
use hob_wire::rooms::loops::LoopConfig;
use hob_wire::rooms::permission::{Add, List, PermissionListParams, PermissionRule};
use hob_wire::schedule::ToolGrantView;
use hob_wire::{ErrorCode, NetworkGrant, Scope, Scopes};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

fn runner(fixture: &Fixture) -> ScheduledCommandRunner {
    let path = EnvVars::capture().os("PATH").expect("a path").to_owned();
    let spawner = Spawner::new(SpawnerParts {
        shim: vec![env!("CARGO_BIN_EXE_hob-daemon-rig").into()],
        env: EnvVars::from_pairs([("PATH", path)]),
        tasks: fixture.tasks.clone(),
        sandbox_support: None,
    });
    let web = hob_net::WebClient::new(Clock::system());
    let commands = CommandRunner::new(spawner, settings(""), None).with_web(web);
    ScheduledCommandRunner::new(&fixture.context, commands)
}

fn scheduled(command: &str, workspace: Option<&tempfile::TempDir>) -> ScheduledCommand {
    let named = workspace.and_then(|folder| folder.path().to_str());
    ScheduledCommand {
        command: command.to_owned(),
        workspace: named.map(str::to_owned),
        network: NetworkGrant::Off,
        timeout_ms: None,
    }
}

#[tokio::test]
async fn a_command_says_what_it_said_and_how_it_ended() {
    let fixture = Fixture::new();
    let runner = runner(&fixture);
    let folder = tempfile::tempdir().expect("a folder");
    let never = CancellationToken::new();
    let told = scheduled(
        "echo out; echo err >&2; echo x > made; exit 3",
        Some(&folder),
    );
    let outcome = runner.run(&told, &never).await;
    assert_eq!(outcome.exit_code, Some(3), "{outcome:?}");
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("out\n", "err\n"));
    assert_eq!(outcome.problem, None);
    assert!(folder.path().join("made").exists());
    fixture.close().await;
}

#[tokio::test]
async fn a_network_is_the_proxy_unless_the_machines_own_was_named() {
    let fixture = Fixture::new();
    let runner = runner(&fixture);
    let never = CancellationToken::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let port = listener.local_addr().expect("has one").port();
    let line = format!(
        "curl -s -m 5 http://127.0.0.1:{port}/; echo > /dev/tcp/127.0.0.1/{port} && echo GOT"
    );
    for (network, gets) in [
        (NetworkGrant::Off, false),
        (NetworkGrant::Proxy, false),
        (NetworkGrant::Host, true),
    ] {
        let direct = format!("echo > /dev/tcp/127.0.0.1/{port} && echo GOT");
        let mut told = scheduled(if gets { &direct } else { &line }, None);
        told.network = network;
        let outcome = runner.run(&told, &never).await;
        assert_eq!(
            outcome.stdout.contains("GOT"),
            gets,
            "{network:?}: {outcome:?}"
        );
        let names = outcome
            .stderr
            .contains(&format!("Refused hosts: 127.0.0.1:{port}"));
        assert_eq!(
            names,
            network == NetworkGrant::Proxy,
            "{network:?}: {outcome:?}"
        );
    }
    fixture.close().await;
}

#[tokio::test]
async fn without_a_folder_nothing_can_be_changed_and_hobs_home_is_unseen() {
    let fixture = Fixture::new();
    let runner = runner(&fixture);
    let home = fixture.home.root().to_owned();
    std::fs::write(home.join("owner.token"), "canary").expect("writes");
    let command = format!(
        "pwd; cat {0}/owner.token; echo x > {0}/x; echo x > /etc/hob-was-here; echo x > /tmp/mine && echo own",
        home.display()
    );
    let never = CancellationToken::new();
    let outcome = runner.run(&scheduled(&command, None), &never).await;
    assert_eq!(outcome.stdout, "/\nown\n", "{outcome:?}");
    assert!(!outcome.stderr.contains("canary"), "{outcome:?}");
    assert!(!home.join("x").exists());
    fixture.close().await;
}

#[tokio::test]
async fn what_it_prints_is_bounded_and_stays_text() {
    let fixture = Fixture::new();
    let runner = runner(&fixture);
    let never = CancellationToken::new();
    let told = scheduled(
        "echo first; for i in {1..20000}; do echo €€€€€€€€; done; echo last",
        None,
    );
    let outcome = runner.run(&told, &never).await;
    assert_eq!(outcome.exit_code, Some(0), "{:?}", outcome.problem);
    let text = &outcome.stdout;
    assert!(text.len() < OUTPUT_BYTES_MAX + 256, "{}", text.len());
    assert!(text.starts_with("first\n") && text.ends_with("last\n"));
    assert!(text.contains("left out") && !text.contains('\u{fffd}'));
    fixture.close().await;
}

#[tokio::test]
async fn a_deadline_and_a_stop_end_everything_it_started() {
    let fixture = Fixture::new();
    let runner = runner(&fixture);
    let folder = tempfile::tempdir().expect("a folder");
    let tree = "(setsid sh -c 'trap \"\" TERM; while :; do date +%s%N > beat; sleep 0.05; done' &) ; touch began; sleep 600";
    let mut told = scheduled(tree, Some(&folder));
    told.timeout_ms = Some(1_500);
    let outcome = runner.run(&told, &CancellationToken::new()).await;
    assert_eq!(outcome.exit_code, None);
    let problem = outcome.problem.expect("is told");
    assert!(problem.contains("longer than 1500 ms"), "{problem}");
    assert_still(&folder).await;
    told.timeout_ms = None;
    let stop = CancellationToken::new();
    let asked = async {
        // On a slow machine the first run may have ended before it made this.
        let _ = std::fs::remove_file(folder.path().join("began"));
        while !folder.path().join("began").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
        Instant::now()
    };
    let (asked, outcome) = tokio::join!(asked, runner.run(&told, &stop));
    let took = asked.elapsed();
    assert!(
        outcome
            .problem
            .is_some_and(|problem| problem.contains("stopped"))
    );
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_still(&folder).await;
    fixture.close().await;
}

/// The process that beats is gone.
async fn assert_still(folder: &tempfile::TempDir) {
    let beat = || std::fs::read(folder.path().join("beat")).unwrap_or_default();
    let before = beat();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(beat(), before, "something of it lives");
}

#[tokio::test]
async fn what_cannot_be_run_is_told_and_wrong_bounds_are_refused() {
    let fixture = Fixture::new();
    let runner = runner(&fixture);
    let never = CancellationToken::new();
    let mut nowhere = scheduled("true", None);
    nowhere.workspace = Some("/nowhere/at/all".to_owned());
    let outcome = runner.run(&nowhere, &never).await;
    assert!(outcome.problem.is_some() && outcome.exit_code.is_none());
    assert!(scheduled(" ", None).check().is_err());
    let mut long = scheduled("true", None);
    long.timeout_ms = Some(u64::MAX);
    assert!(long.check().is_err());
    assert!(scheduled("true", None).check().is_ok());
    fixture.close().await;
}

#[tokio::test]
async fn setting_a_command_is_recorded_with_its_bytes() {
    let fixture = Fixture::new();
    let mask = SecretMask::new();
    mask.add("hunter2-hunter2");
    let told = scheduled("curl -H hunter2-hunter2 example.org", None);
    let recorded = record_command(&fixture.store, &mask, "laptop", "loop:watch", &told).await;
    recorded.expect("is recorded");
    let listed = fixture.store.list_audit(AuditParams::default()).await;
    let entry = listed.expect("lists").entries.swap_remove(0);
    assert_eq!((&*entry.act, &*entry.by), ("own-act", "laptop"));
    assert_eq!(entry.matter["for"], "loop:watch");
    let command = entry.matter["command"].as_str().expect("is there");
    assert!(command.starts_with("curl -H") && !command.contains("hunter2"));
    assert_eq!(entry.matter["digest"].as_str().map(str::len), Some(64));
    fixture.close().await;
}

fn grant(tool: &str, path: Option<&str>) -> ToolGrantView {
    ToolGrantView {
        tool: tool.to_owned(),
        matches: std::iter::empty().collect(),
        path: path.map(str::to_owned),
        host: None,
    }
}

const OWNER: GrantOwner<'_> = GrantOwner {
    room: "loops",
    kind: "loop",
    name: "build",
};

async fn rules(fixture: &Fixture) -> Vec<PermissionRule> {
    let listed = fixture
        .caller()
        .call::<List>(&PermissionListParams::default())
        .await;
    let mut rules = listed.expect("lists").rules;
    rules.sort_by(|a, b| a.terms.tool.cmp(&b.terms.tool));
    rules
}

/// Writes a loop together with exactly these rules.
async fn grant_these(fixture: &Fixture, owner: GrantOwner<'_>, grants: &[ToolGrantView]) {
    let planner = GrantPlanner {
        store: &fixture.store,
        randomness: &Randomness::system(),
        mask: &SecretMask::new(),
    };
    let rules = planner.replace(owner, grants).await.expect("is planned");
    let config = LoopConfig::default();
    let written = fixture.store.update_loop(owner.name, config, rules).await;
    written.expect("is written");
    let listed = grants::grants_of(&fixture.store, owner)
        .await
        .expect("reads");
    assert!(
        grants.iter().all(|grant| listed.contains(grant)),
        "{listed:?}"
    );
}

#[tokio::test]
async fn grants_are_rules_that_come_and_go_with_their_owner() {
    let fixture = house_with("");
    let own = json!({ "tool": "exec", "decision": "deny", "scope": "always", "sessions": "loop:build:*", "kind": "loop" });
    let own = serde_json::from_value(own).expect("reads");
    fixture.caller().call::<Add>(&own).await.expect("is stored");
    for name in ["build", "other"] {
        let new = NewLoopRow {
            name: name.to_owned(),
            config: LoopConfig::default(),
            persistent: String::new(),
            working: String::new(),
            by: "me".to_owned(),
            rules: Vec::new(),
        };
        fixture.store.create_loop(new).await.expect("is made");
    }
    let some = [
        grant("write", Some("/srv")),
        grant("edit", None),
        grant("edit", None),
    ];
    for _ in 0..2 {
        grant_these(&fixture, OWNER, &some).await;
        let rules = rules(&fixture).await;
        let tools: Vec<&str> = rules.iter().map(|rule| &*rule.terms.tool).collect();
        assert_eq!(tools, ["edit", "exec", "write"]);
        assert_eq!(rules[2].terms.sessions.as_deref(), Some("loop:build:*"));
        assert_eq!(rules[2].terms.kind.as_deref(), Some("loop"));
        assert_eq!(rules[2].terms.path.as_deref(), Some("/srv"));
    }
    let other = GrantOwner {
        name: "other",
        ..OWNER
    };
    grant_these(&fixture, other, &some[..1]).await;
    grant_these(&fixture, OWNER, &some[1..2]).await;
    assert_eq!(rules(&fixture).await.len(), 3);
    grant_these(&fixture, OWNER, &[]).await;
    grant_these(&fixture, other, &[]).await;
    let left = rules(&fixture).await;
    assert_eq!(left.len(), 1, "the person's own rule stays: {left:?}");
    assert_eq!(left[0].terms.tool, "exec");
    fixture.close().await;
}

#[test]
fn granting_needs_admin_and_terms_that_a_rule_can_say() {
    let call = |scope| RequestContext {
        principal: "person".to_owned(),
        caller: "someone".to_owned(),
        surface: "ws",
        scopes: Scopes::rank(scope),
        trace: "t".into(),
        connection: 1,
        abandoned: CancellationToken::new(),
    };
    let refused = grants::check_grants(&call(Scope::Control), OWNER, &[grant("write", None)]);
    assert_eq!(code(refused), ErrorCode::Forbidden);
    let wrong = grants::check_grants(&call(Scope::Admin), OWNER, &[grant("", None)]);
    assert_eq!(code(wrong), ErrorCode::InvalidParams);
    let many = vec![grant("write", None); grants::GRANTS_MAX + 1];
    let many = grants::check_grants(&call(Scope::Admin), OWNER, &many);
    assert_eq!(code(many), ErrorCode::InvalidParams);
    grants::check_grants(&call(Scope::Admin), OWNER, &[grant("write", None)])
        .expect("may be granted");
}

/// A loop shows its model what its monitor printed.
#[tokio::test]
async fn what_a_command_prints_is_masked() {
    let fixture = Fixture::new();
    fixture.context.mask.add("sk-live-0123456789abcdef");
    let runner = runner(&fixture);
    let told = scheduled(
        "printf sk-live-; sleep 0.1; echo 0123456789abcdef end",
        None,
    );
    let outcome = runner.run(&told, &CancellationToken::new()).await;
    assert_eq!(outcome.stdout, "[masked] end\n");
    fixture.close().await;
}
