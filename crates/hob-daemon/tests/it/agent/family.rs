//! Runs that start others: narrowed, joined once, ended together, and never in each other's way.

use super::house::{
    House, config, folder, house, in_time, results, task, thinking, until, waiting,
};
use super::resume::{copy, say_yes};
use hob_kit::clock::Clock;
use hob_sim::{Answer, Gate, Sim, SimRequest};
use hob_wire::rooms::agent::{
    Abort, AgentListParams, AgentRunParams, AgentRunResult, AgentWaitParams, Budget, Run,
    RunSelector, RunState, RunView, Wait,
};
use hob_wire::rooms::permission::{Add, PermissionAddParams};
use hob_wire::rooms::session::{Get, SessionGetParams};
use hob_wire::work::Tier;
use hob_wire::{ErrorCode, RunId, WireError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What a parent's conversation begins with; anything else is a child's.
const PARENT: &str = "Have it done.";
/// Where nobody is asked about starting a sub-agent.
const FREE: &str = "[permission]\nmode = \"full\"";

fn is_parent(asked: &SimRequest) -> bool {
    asked.messages.iter().any(|said| said.text.contains(PARENT))
}

/// A model that gives `args` to a sub-agent and repeats what it is told; `child` is the other.
fn two(args: Value, child: impl Fn(&SimRequest) -> Answer + Send + Sync + 'static) -> Sim {
    thinking(move |asked| match (is_parent(asked), results(asked)) {
        (true, 0) => Answer::asks("sessions_spawn", args.clone()),
        (true, _) => Answer::words(last_result(asked)),
        (false, _) => child(asked),
    })
}

fn last_result(asked: &SimRequest) -> String {
    let told = asked.messages.iter().rev();
    let mut told = told.flat_map(|said| said.tool_results.iter().rev());
    told.next().expect("a result").text.clone()
}

async fn runs(house: &House) -> Vec<hob_store::RunRow> {
    let page = house.store.list_runs(AgentListParams::default()).await;
    page.expect("lists").runs
}

/// The parent was answered, and its child's model is being asked: the parent's own stream is over
/// a little later than its answer.
async fn child_is_asked(sim: &Sim) {
    until(|| sim.asked_count() == 2 && sim.open_streams() == 1).await;
}

async fn child(house: &House) -> hob_store::RunRow {
    let mut children = runs(house).await.into_iter();
    let child = children.find(|run| run.parent.is_some());
    child.expect("a child")
}

async fn wait_for(house: &House, run: RunId) -> RunView {
    let params = AgentWaitParams {
        run_id: run,
        wait_ms: None,
    };
    let view = in_time(house.caller().call::<Wait>(&params)).await;
    view.expect("is there")
}

fn born(parent: RunId, key: &str, words: &str) -> AgentRunParams {
    AgentRunParams {
        parent: Some(parent),
        idempotency_key: Some(key.to_owned()),
        ..task("ignored", words)
    }
}

async fn started(house: &House, parent: RunId, key: &str) -> Result<AgentRunResult, WireError> {
    house
        .caller()
        .call::<Run>(&born(parent, key, "Do it."))
        .await
}

#[tokio::test]
async fn a_sub_agents_answer_is_its_tools_answer_and_its_cost_is_counted_above() {
    let folder = folder();
    let args = json!({ "task": "Count to one.", "label": "counting", "steps": 3 });
    let sim = two(args, |_| Answer::words("One."));
    let text = config(&sim, FREE);
    let house = House::open(folder.path(), &text);
    let reply = house.run(waiting("chat:main", PARENT)).await;
    assert_eq!(reply.response.as_deref(), Some("One."));
    let child = child(&house).await;
    assert_eq!(child.parent, Some(reply.run_id));
    assert!(child.session_key.starts_with("chat:main:subagent:"));
    assert_eq!(child.limits.steps, 3);
    let get = |key: &str| SessionGetParams {
        session_key: key.to_owned(),
    };
    let caller = house.caller();
    let session = caller.call::<Get>(&get(&child.session_key)).await;
    let session = session.expect("is there");
    let parent = caller.call::<Get>(&get("chat:main")).await;
    assert_eq!(session.kind, "subagent");
    assert_eq!(session.label.as_deref(), Some("counting"));
    assert_eq!(session.parent, Some(parent.expect("is there").id));
    // The session that a person started pays for both.
    let cost = |key: &str| {
        let params = hob_wire::rooms::cost::CostSummaryParams {
            session_key: Some(key.to_owned()),
            days: None,
        };
        let store = house.store.clone();
        async move { store.cost_summary(params, Clock::system().wall_ms()).await }
    };
    let above = cost("chat:main").await.expect("sums").total;
    let below = cost(&child.session_key).await.expect("sums").total;
    assert_eq!((above.calls, below.calls), (3, 0));
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    house.close().await;
}

#[tokio::test]
async fn a_child_is_narrowed_from_what_its_parent_may_do() {
    let (folder, workspace, gate) = (folder(), folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("done").held(&held));
    let house = house(folder.path(), &sim);
    let parent = AgentRunParams {
        tools: Some(vec!["read".into(), "sessions_spawn".into(), "time".into()]),
        ceiling: Some(Tier::Write),
        unattended: true,
        channel: Some("telegram".to_owned()),
        workspace: Some(workspace.path().display().to_string()),
        budget: Some(Budget {
            steps: Some(9),
            tokens: Some(50_000),
            micro_dollars: Some(1_000_000),
            wall_ms: Some(60_000),
        }),
        ..task("chat:main", PARENT)
    };
    let parent = house.run(parent).await;
    until(|| sim.open_streams() == 1).await;
    let asked = AgentRunParams {
        tools: Some(vec!["exec".into(), "read".into(), "sessions_list".into()]),
        ceiling: Some(Tier::External),
        workspace: Some("/".to_owned()),
        channel: None,
        budget: Some(Budget {
            steps: Some(1_000),
            tokens: Some(u64::MAX),
            micro_dollars: Some(300_000),
            wall_ms: Some(u64::MAX),
        }),
        ..born(parent.run_id, "c1", "Reach out.")
    };
    let reply = house.run(asked).await;
    let row = house.store.run(&reply.run_id).await.expect("is there");
    let params = house.store.run_params(&row.id).await.expect("is there");
    let params: AgentRunParams = serde_json::from_value(params).expect("reads");
    assert_eq!(params.tools, Some(vec!["read".to_owned()]));
    assert_eq!(params.ceiling, Some(Tier::Write));
    assert_eq!(params.channel.as_deref(), Some("telegram"));
    assert!(params.unattended);
    assert_eq!(
        params.workspace.as_deref(),
        workspace.path().to_str(),
        "the same folder"
    );
    assert_eq!((row.limits.steps, row.limits.micro_dollars), (8, 300_000));
    assert!(row.limits.tokens <= 50_000 && row.limits.wall_ms <= 60_000);
    // What one child may still spend is not there for the next.
    let next = started(&house, parent.run_id, "c2").await;
    let refusal = next.expect_err("nothing is left");
    assert_eq!(refusal.code, ErrorCode::Conflict);
    assert!(refusal.message.contains("no tokens left"), "{refusal}");
    gate.open();
    wait_for(&house, parent.run_id).await;
    house.close().await;
}

#[tokio::test]
async fn a_child_never_has_the_tools_of_sessions() {
    let folder = folder();
    let sim = two(json!({ "task": "Spread." }), |asked| match results(asked) {
        0 => Answer::asks("sessions_spawn", json!({ "task": "More." })),
        _ => Answer::words(last_result(asked)),
    });
    let house = House::open(folder.path(), &config(&sim, FREE));
    let reply = house.run(waiting("chat:main", PARENT)).await;
    let said = reply.response.expect("an answer");
    assert!(said.contains("no tool 'sessions_spawn'"), "{said}");
    let offered = |asked: &SimRequest| asked.tools.iter().any(|tool| tool.starts_with("sessions_"));
    let asked = sim.asked();
    assert!(asked.iter().any(|it| is_parent(it) && offered(it)));
    assert!(!asked.iter().any(|it| !is_parent(it) && offered(it)));
    house.close().await;
}

#[tokio::test]
async fn only_the_house_starts_children_and_not_without_end() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("done").held(&held));
    let house = house(folder.path(), &sim);
    let parent = house.run(task("chat:main", PARENT)).await;
    until(|| sim.open_streams() == 1).await;
    let small = |key: &str| AgentRunParams {
        budget: Some(Budget {
            tokens: Some(10),
            micro_dollars: Some(10),
            ..Budget::default()
        }),
        ..born(parent.run_id, key, "Do it.")
    };
    let outside = hob_bus::PeerIdentity {
        name: "page".to_owned(),
        surface: "ws",
        principal: "page".to_owned(),
        scopes: hob_wire::Scopes::owner(),
    };
    let outside = house.bus.caller_as(outside).expect("connects");
    let refused = outside.call::<Run>(&small("c0")).await;
    assert_eq!(refused.expect_err("is refused").code, ErrorCode::Forbidden);
    // The same call again is the same run; ten are as many as there may ever be.
    let first = house.run(small("c1")).await;
    assert_eq!(house.run(small("c1")).await.run_id, first.run_id);
    for number in 2..=10 {
        house.run(small(&format!("c{number}"))).await;
    }
    let refused = house.try_run(small("c11")).await;
    let refusal = refused.expect_err("is refused");
    assert!(refusal.message.contains("10"), "{refusal}");
    assert_eq!(house.run(small("c1")).await.run_id, first.run_id);
    // Three generations below the first, and no more.
    let mut above = first.run_id;
    for depth in 2..=3 {
        let params = AgentRunParams {
            budget: None,
            ..born(above, "deeper", "Do it.")
        };
        above = match house.try_run(params).await {
            Ok(reply) => reply.run_id,
            Err(refusal) => panic!("depth {depth}: {refusal}"),
        };
    }
    let refused = started(&house, above, "deepest").await;
    let refusal = refused.expect_err("is refused");
    assert!(refusal.message.contains("levels"), "{refusal}");
    gate.open();
    wait_for(&house, parent.run_id).await;
    until_all_done(&house).await;
    let ended = started(&house, parent.run_id, "late").await;
    assert_eq!(ended.expect_err("is refused").code, ErrorCode::Conflict);
    house.close().await;
}

async fn until_all_done(house: &House) {
    let done = async {
        while !house
            .store
            .unfinished_runs()
            .await
            .expect("reads")
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(done).await;
}

#[tokio::test]
async fn aborting_a_parent_ends_its_children_within_the_second() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = two(json!({ "task": "Take long." }), move |_| {
        Answer::words("never").held(&held)
    });
    let house = House::open(folder.path(), &config(&sim, FREE));
    let parent = house.run(task("chat:main", PARENT)).await;
    child_is_asked(&sim).await;
    let started = Instant::now();
    let selector = RunSelector {
        session_key: Some("chat:main".to_owned()),
        run_id: None,
    };
    let aborted = house.caller().call::<Abort>(&selector).await;
    let took = started.elapsed();
    let aborted = aborted.expect("is ended").runs;
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(aborted.iter().any(|view| view.run_id == parent.run_id));
    for run in runs(&house).await {
        assert_eq!(run.summary.state, RunState::Done);
        let cause = run.summary.cause.expect("a cause");
        assert_eq!(json!(cause), "aborted", "{}", run.session_key);
    }
    assert_eq!(runs(&house).await.len(), 2);
    house.close().await;
}

#[tokio::test]
async fn a_sub_agent_that_takes_long_is_not_lost_and_can_be_waited_for() {
    let (folder, gate) = (folder(), Gate::new());
    let (held, opened) = (gate.clone(), gate.clone());
    let sim = thinking(move |asked| match (is_parent(asked), results(asked)) {
        (true, 0) => Answer::asks("sessions_spawn", json!({ "task": "Think.", "waitMs": 0 })),
        (true, 1) => {
            let told = last_result(asked);
            assert!(told.contains("still at work"), "{told}");
            let id = told.split('"').nth(3).expect("an id").to_owned();
            opened.open();
            Answer::asks("sessions_spawn", json!({ "runId": id }))
        }
        (true, _) => Answer::words(last_result(asked)),
        (false, _) => Answer::words("At last.").held(&held),
    });
    let house = House::open(folder.path(), &config(&sim, FREE));
    let reply = house.run(waiting("chat:main", PARENT)).await;
    assert_eq!(reply.response.as_deref(), Some("At last."));
    assert_eq!(runs(&house).await.len(), 2, "one sub-agent");
    // It is nobody else's to wait for.
    let other = two(json!({ "runId": reply.run_id.to_string() }), |_| {
        Answer::words("no")
    });
    house.close().await;
    let again = House::open(folder.path(), &config(&other, FREE));
    let reply = again.run(waiting("chat:other", PARENT)).await;
    let said = reply.response.expect("an answer");
    assert!(said.contains("did not start a sub-agent"), "{said}");
    again.close().await;
}

#[tokio::test]
async fn a_parent_that_answers_first_leaves_no_child_behind() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = two(json!({ "task": "Think.", "waitMs": 0 }), move |_| {
        Answer::words("never").held(&held)
    });
    let house = House::open(folder.path(), &config(&sim, FREE));
    let reply = house.run(waiting("chat:main", PARENT)).await;
    assert!(reply.response.expect("an answer").contains("still at work"));
    until_all_done(&house).await;
    let child = child(&house).await;
    assert_eq!(json!(child.summary.cause), "aborted");
    house.close().await;
}

#[tokio::test]
async fn a_failed_sub_agent_is_an_error_with_its_cause() {
    let folder = folder();
    let args = json!({ "task": "Read on.", "steps": 1, "tools": ["time"] });
    let sim = two(args, |_| Answer::asks("time", json!({})));
    let house = House::open(folder.path(), &config(&sim, FREE));
    let reply = house.run(waiting("chat:main", PARENT)).await;
    let view = house.status(&reply).await;
    let result = view.calls[0].result.as_ref().expect("a result");
    assert!(result.is_error);
    assert!(reply.response.expect("words").contains("step-limit"));
    house.close().await;
}

#[tokio::test]
async fn what_children_cost_counts_against_the_parents_money() {
    let folder = folder();
    // The child's one answer costs nearly all that the parent has.
    let sim = two(json!({ "task": "Spend." }), |_| Answer::tokens(20_000));
    let house = House::open(folder.path(), &config(&sim, FREE));
    let params = AgentRunParams {
        budget: Some(Budget {
            micro_dollars: Some(9_000),
            ..Budget::default()
        }),
        ..waiting("chat:main", PARENT)
    };
    let reply = house.run(params).await;
    assert_eq!(json!(reply.cause), "money-limit", "{reply:?}");
    let child = child(&house).await;
    assert_eq!(json!(child.summary.cause), "answered", "{child:?}");
    house.close().await;
}

#[tokio::test]
async fn many_parents_that_all_start_children_at_once_never_wait_for_each_other() {
    const PARENTS: usize = 12;
    let folder = folder();
    let sim = two(json!({ "task": "Help." }), |_| Answer::words("Helped."));
    let text = config(&sim, &format!("agent.concurrency = 2\n{FREE}"));
    let house = House::open(folder.path(), &text);
    for number in 0..PARENTS {
        house.run(task(&format!("s{number}"), PARENT)).await;
    }
    let completed = house.hears("run.completed", PARENTS * 2).await;
    assert!(completed.iter().all(|it| it["response"] == "Helped."));
    house.close().await;
}

#[tokio::test]
async fn a_parent_cut_off_by_a_crash_finds_the_same_child_again() {
    let (origin, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = two(json!({ "task": "Think." }), move |_| {
        Answer::words("Thought.").held(&held)
    });
    let text = config(&sim, "");
    let first = House::open(origin.path(), &text);
    let yes = say_yes(&first);
    first.run(task("chat:main", PARENT)).await;
    child_is_asked(&sim).await;
    let before = child(&first).await;
    let copied = copy(origin.path());
    yes.abort();
    first.crash().await;
    gate.open();
    let second = House::open(copied.path(), &text);
    let completed = second.hears("run.completed", 2).await;
    assert!(completed.iter().all(|it| it["response"] == "Thought."));
    let all = runs(&second).await;
    assert_eq!(all.len(), 2, "no second child");
    assert_eq!(child(&second).await.id, before.id);
    assert!(sim.refused().is_empty(), "{:?}", sim.refused());
    second.close().await;
}

#[tokio::test]
async fn a_child_whose_parent_ended_before_a_crash_does_not_go_on() {
    let (origin, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("never").held(&held));
    let text = config(&sim, "");
    let first = House::open(origin.path(), &text);
    // Its own start-up reads the unfinished runs, perhaps after these are accepted.
    first.tasks.begin_drain();
    let parent = first.store.accept_run(orphaning()).await;
    let parent = parent.expect("is accepted").run.id;
    let mut below = orphaning();
    below.id = parent.with_tail([7; 10]);
    below.session = "chat:main:subagent:x".to_owned();
    below.params = json!({ "sessionKey": below.session, "task": "Go on." });
    below.parent_link = Some(hob_store::ParentLink {
        parent,
        label: None,
        children_max: 1,
    });
    let child = first.store.accept_run(below).await.expect("is accepted");
    let mut summary = hob_store::RunSummary {
        state: RunState::Done,
        cause: Some(hob_wire::work::RunEndCause::Answered),
        ..hob_store::RunSummary::default()
    };
    summary.ended_at = Some(1);
    let write = hob_store::StepWrite::new(parent, 0, summary);
    first.store.write_step(write).await.expect("writes");
    let path = first.crash().await;
    let second = House::open(&path, &text);
    let ended = wait_for(&second, child.run.id).await;
    assert_eq!(json!(ended.cause), "aborted");
    assert_eq!(sim.asked_count(), 0);
    second.close().await;
}

fn orphaning() -> hob_store::NewRun {
    hob_store::NewRun {
        id: "00000000-0000-7000-8000-000000000001"
            .parse()
            .expect("is an id"),
        session: "chat:main".to_owned(),
        kind: None,
        fork: false,
        task: "Go on.".to_owned(),
        params: json!({ "sessionKey": "chat:main", "task": "Go on." }),
        limits: hob_core::turn::RunLimits::DEFAULT,
        mode: hob_wire::rooms::agent::QueueMode::Queue,
        queue_max: 1,
        idempotency_key: None,
        parent_link: None,
    }
}

#[tokio::test]
async fn a_childs_questions_are_asked_where_its_parents_are_and_denials_reach_down() {
    let (folder, workspace) = (folder(), folder());
    let sim = two(json!({ "task": "Write." }), |asked| match results(asked) {
        0 => Answer::asks("write", json!({ "path": "a.txt", "content": "hi" })),
        _ => Answer::words(last_result(asked)),
    });
    let house = house(folder.path(), &sim);
    let params = || AgentRunParams {
        workspace: Some(workspace.path().display().to_string()),
        ..waiting("chat:main", PARENT)
    };
    let yes = say_yes(&house);
    house.run(params()).await;
    assert!(workspace.path().join("a.txt").exists(), "a person said yes");
    let asked = house.heard("permission.requested");
    let mut writes = asked.iter().filter(|it| it["tool"] == "write");
    let question = writes.next().expect("a question");
    let key = question["sessionKey"].as_str().expect("a key");
    assert!(key.starts_with("chat:main:subagent:"), "{key}");
    // What is denied in the person's session is denied below it, whatever else is allowed.
    let rule = |decision, scope, session: Option<&str>| -> PermissionAddParams {
        let terms =
            json!({ "tool": "write", "decision": decision, "scope": scope, "sessionKey": session });
        serde_json::from_value(terms).expect("is a rule")
    };
    let caller = house.caller();
    let allow = rule("allow", "always", None);
    let deny = rule("deny", "session", Some("chat:main"));
    for rule in [allow, deny] {
        caller.call::<Add>(&rule).await.expect("is stored");
    }
    let reply = house.run(params()).await;
    let said = reply.response.expect("an answer");
    assert!(said.contains("denies this call"), "{said}");
    yes.abort();
    house.close().await;
}
