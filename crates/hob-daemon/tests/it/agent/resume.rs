//! Runs that a crash cut off. The house's files are copied the moment an effect is under way, as
//! a crash would leave them, and a new house goes on from the copy.

use super::bench::{self, Hang, World};
use super::house::{House, config, folder, results, task, thinking, until, waiting};
use hob_core::turn::RunLimits;
use hob_sim::{Answer, Gate, Sim};
use hob_store::{NewRun, RunSummary, StepWrite};
use hob_wire::RunId;
use hob_wire::rooms::agent::{
    AgentListParams, AgentResolveParams, DoubtAnswer, QueueMode, Resolve, RunEndCause, RunState,
};
use hob_wire::rooms::permission::{
    Answer as PermissionAnswer, PermissionAnswerParams, PermissionDecision, PermissionQuestion,
};
use hob_wire::rooms::timeline::{RunTimelineParams, Timeline, TimelineKind};
use serde_json::json;
use std::path::Path;

/// The tools of the script, one of each effect class and a last pure one.
const TOOLS: [&str; 5] = ["pure", "keyed", "probeable", "opaque", "pure"];
const ANSWER: &str = "All five are done.";

fn script() -> Sim {
    thinking(|asked| match TOOLS.get(results(asked)) {
        Some(tool) => Answer::asks(tool, json!({ "n": results(asked) })),
        None => Answer::words(ANSWER),
    })
}

/// Says yes to every question, until the house closes.
#[expect(clippy::disallowed_methods, reason = "a person of a test has no Tasks")]
pub(super) fn say_yes(house: &House) -> tokio::task::JoinHandle<()> {
    let caller = house.caller();
    tokio::spawn(async move {
        loop {
            let pending = hob_wire::rooms::permission::PermissionPendingParams::default();
            let asked = caller
                .call::<hob_wire::rooms::permission::Pending>(&pending)
                .await;
            let questions: Vec<PermissionQuestion> =
                asked.map_or_else(|_| Vec::new(), |it| it.questions);
            for question in questions {
                let answer = PermissionAnswerParams {
                    id: question.id,
                    decision: PermissionDecision::Allow,
                    scope: None,
                    digest: Some(question.digest),
                };
                let _ = caller.call::<PermissionAnswer>(&answer).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
}

/// What a crash would leave of a house that stands still.
pub(crate) fn copy(from: &Path) -> tempfile::TempDir {
    let to = folder();
    for entry in std::fs::read_dir(from).expect("reads") {
        let entry = entry.expect("reads");
        if entry.file_type().expect("reads").is_file() {
            let name = entry.file_name();
            std::fs::copy(entry.path(), to.path().join(name)).expect("copies");
        }
    }
    to
}

async fn the_run(house: &House) -> hob_store::RunRow {
    let page = house.store.list_runs(AgentListParams::default()).await;
    page.expect("lists").runs.remove(0)
}

async fn resolve(house: &House, run: RunId, answer: DoubtAnswer) {
    let params = AgentResolveParams {
        run_id: run,
        call_id: house.heard("run.in_doubt")[0]["call"]["id"]
            .as_str()
            .expect("has an id")
            .to_owned(),
        answer,
        result: Some("opaque is done".to_owned()),
    };
    let resolved = house.caller().call::<Resolve>(&params).await;
    resolved.expect("is taken");
}

/// Runs the script until `tool` hangs, before or after its effect, crashes there, and goes on.
async fn crash_at(tool: &str, hang: Hang) -> (House, World, tempfile::TempDir, Sim) {
    let (origin, world, sim) = (folder(), World::default(), script());
    world.hang(Some((tool, hang)));
    let first = House::open(origin.path(), &config(&sim, ""));
    bench::serve(&first, &world).await;
    let yes = say_yes(&first);
    first.run(task("a", "Do all five.")).await;
    until(|| world.runs(tool) == 1).await;
    let copied = copy(origin.path());
    yes.abort();
    first.crash().await;
    world.hang(None);
    let second = House::open(copied.path(), &config(&sim, ""));
    bench::serve(&second, &world).await;
    (second, world, copied, sim)
}

#[tokio::test]
async fn a_run_cut_off_in_any_tool_goes_on_without_a_repeated_effect() {
    for tool in ["keyed", "probeable", "opaque"] {
        for hang in [Hang::Before, Hang::After] {
            let (house, world, _folder, sim) = crash_at(tool, hang).await;
            let yes = say_yes(&house);
            let run = the_run(&house).await.id;
            if tool == "opaque" {
                let doubt = house.hears("run.in_doubt", 1).await.remove(0);
                assert_eq!(doubt["call"]["name"], "opaque");
                assert!(doubt["beganAt"].as_u64() > Some(0));
                assert_eq!(the_run(&house).await.summary.state, RunState::InDoubt);
                let answer = match hang {
                    Hang::Before => DoubtAnswer::DidNot,
                    Hang::After => DoubtAnswer::Happened,
                };
                resolve(&house, run, answer).await;
            }
            let completed = house.hears("run.completed", 1).await.remove(0);
            assert_eq!(completed["response"], ANSWER, "{tool} {hang:?}");
            assert_eq!(
                world.effects(),
                [1; 5],
                "{tool} {hang:?}: each happened once"
            );
            assert!(sim.refused().is_empty(), "{:?}", sim.refused());
            check_timeline(&house, run, tool).await;
            yes.abort();
            house.close().await;
        }
    }
}

/// The timeline tells the crash, and the question about a call that nobody knows of.
async fn check_timeline(house: &House, run_id: RunId, tool: &str) {
    let params = RunTimelineParams {
        run_id,
        after: None,
        limit: None,
    };
    let timeline = house.caller().call::<Timeline>(&params).await;
    let rows = timeline.expect("reads").rows;
    let of_kind = |kind| rows.iter().filter(move |row| row.kind == kind);
    assert_eq!(of_kind(TimelineKind::Restart).count(), 1, "{rows:#?}");
    let doubts = usize::from(tool == "opaque");
    assert_eq!(of_kind(TimelineKind::Doubt).count(), doubts, "{rows:#?}");
    assert!(rows.iter().all(|row| row.ended_at.is_some()), "{rows:#?}");
    let approvals = of_kind(TimelineKind::Call).filter_map(|row| row.approval.as_ref());
    let asked = approvals.filter(|approval| approval.person).count();
    assert!(asked > 0, "{rows:#?}");
}

#[tokio::test]
async fn giving_up_on_a_call_in_doubt_ends_the_run() {
    let (house, world, _folder, _sim) = crash_at("opaque", Hang::After).await;
    house.hears("run.in_doubt", 1).await;
    let run = the_run(&house).await.id;
    resolve(&house, run, DoubtAnswer::GiveUp).await;
    let completed = house.hears("run.completed", 1).await.remove(0);
    assert_eq!(completed["cause"], "given-up");
    assert_eq!(world.runs("opaque"), 1);
    house.close().await;
}

#[tokio::test]
async fn a_model_call_cut_off_is_the_next_attempt_and_stays_in_the_ledger() {
    let (origin, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("one two").held_after(1, &held));
    let first = House::open(origin.path(), &config(&sim, ""));
    first.run(task("a", "Count.")).await;
    first.hears("run.delta", 1).await;
    let path = first.crash().await;
    gate.open();
    let second = House::open(&path, &config(&sim, ""));
    let completed = second.hears("run.completed", 1).await.remove(0);
    assert_eq!(completed["response"], "one two");
    let started = &second.heard("run.started")[0];
    assert_eq!(started["resumed"], 1);
    let step = &second.heard("run.step")[0];
    assert_eq!((&step["step"], &step["attempt"]), (&json!(1), &json!(2)));
    let cost = the_run(&second).await.summary.cost;
    assert_eq!(cost.calls, 2, "the lost attempt counts");
    assert!(
        cost.micro_dollars > Some(16_000),
        "at what it was reserved for: {cost:?}"
    );
    second.close().await;
}

#[tokio::test]
async fn a_run_taken_up_again_and_again_in_vain_is_parked() {
    let (origin, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("never").held(&held));
    let mut path = origin.path().to_owned();
    for lives in 1..=4 {
        let house = House::open(&path, &config(&sim, ""));
        if lives == 1 {
            house.run(task("a", "Try.")).await;
        }
        until(|| sim.asked_count() == lives).await;
        path = house.crash().await;
    }
    let house = House::open(&path, &config(&sim, ""));
    let completed = house.hears("run.completed", 1).await.remove(0);
    assert_eq!(completed["cause"], "parked");
    assert_eq!(sim.asked_count(), 4);
    let row = the_run(&house).await;
    assert_eq!(row.summary.cause, Some(RunEndCause::Parked));
    house.close().await;
}

/// Leaves a run under way in the store whose journal has this one entry.
async fn leave_run(house: &House, entry: serde_json::Value) -> RunId {
    let poison = NewRun {
        id: "00000000-0000-7000-8000-000000000001"
            .parse()
            .expect("is an id"),
        session: "poison".to_owned(),
        kind: None,
        fork: false,
        task: "Fall over.".to_owned(),
        params: json!({ "sessionKey": "poison", "task": "Fall over." }),
        limits: RunLimits::DEFAULT,
        mode: QueueMode::Queue,
        queue_max: 1,
        idempotency_key: None,
        parent_link: None,
    };
    let accepted = house.store.accept_run(poison).await.expect("is accepted");
    let summary = RunSummary {
        state: RunState::Running,
        ..RunSummary::default()
    };
    let mut write = StepWrite::new(accepted.run.id, 0, summary);
    write.journal = vec![entry];
    house.store.write_step(write).await.expect("writes");
    accepted.run.id
}

#[tokio::test]
async fn a_run_with_a_damaged_journal_ends_with_the_reason_and_is_not_resumed() {
    let (origin, sim) = (folder(), thinking(|_| Answer::words("Fine.")));
    let first = House::open(origin.path(), &config(&sim, ""));
    let run = leave_run(&first, json!({ "event": "written so" })).await;
    first.close().await;
    let database = origin.path().join("hob.db");
    let mut bytes = std::fs::read(&database).expect("readable");
    let text = b"written so";
    let at = bytes.windows(text.len()).position(|window| window == text);
    bytes[at.expect("the entry is in the file")] ^= 1;
    std::fs::write(&database, bytes).expect("writable");

    let second = House::open(origin.path(), &config(&sim, ""));
    let completed = second.hears("run.completed", 1).await;
    assert_eq!(completed[0]["cause"], "parked");
    let named = format!("Entry 0 in the journal of run {run} (session 'poison') is damaged");
    let message = completed[0]["message"].as_str().expect("a reason");
    assert!(message.starts_with(&named), "{message}");
    assert_eq!(sim.asked_count(), 0, "no model was asked");
    let after = second.run(waiting("poison", "Better?")).await;
    assert_eq!(after.response.as_deref(), Some("Fine."));
    assert_eq!(second.store.status().damaged.len(), 1);
    second.close().await;
}

#[tokio::test]
async fn a_run_that_cannot_be_driven_is_ended_and_holds_up_nobody_else() {
    let (origin, sim) = (folder(), thinking(|_| Answer::words("Fine.")));
    let first = House::open(origin.path(), &config(&sim, ""));
    leave_run(&first, json!({ "event": "of another world" })).await;
    let path = first.crash().await;

    let second = House::open(&path, &config(&sim, ""));
    let reply = second.run(waiting("other", "And you?")).await;
    assert_eq!(reply.response.as_deref(), Some("Fine."));
    let completed = second.hears("run.completed", 2).await;
    assert_eq!(completed[1]["cause"], "parked");
    assert_eq!(completed[1]["sessionKey"], "poison");
    let after = second.run(waiting("poison", "Better?")).await;
    assert_eq!(
        after.response.as_deref(),
        Some("Fine."),
        "its session goes on"
    );
    second.close().await;
}

#[tokio::test]
async fn many_unfinished_runs_go_on_through_the_same_bound() {
    const RUNS: usize = 60;
    let (origin, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("late").held(&held));
    let text = config(&sim, "agent.concurrency = 4");
    let first = House::open(origin.path(), &text);
    for number in 0..RUNS {
        first.run(task(&format!("s{number}"), "Wait.")).await;
    }
    until(|| sim.open_streams() == 4).await;
    let path = first.crash().await;
    let second = House::open(&path, &text);
    // The first house's streams end a little after it.
    until(|| sim.asked_count() >= 8 && sim.open_streams() == 4).await;
    assert_eq!(sim.asked_count(), 8, "no more at once than there are slots");
    gate.open();
    let completed = second.hears("run.completed", RUNS).await;
    assert!(completed.iter().all(|it| it["response"] == "late"));
    assert_eq!(completed.len(), RUNS);
    second.close().await;
}
