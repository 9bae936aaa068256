//! `permission.*` through the bus: questions, answers, tickets.

mod attending;
mod stored;

use crate::fixture::{Fixture, code};
use hob_bus::PeerIdentity;
use hob_kit::host_environment::EnvVars;
use hob_kit::randomness::Randomness;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_wire::rooms::permission::{
    Answer, AnswerReach, Ask, Pending, PermissionAnswerParams, PermissionAskParams,
    PermissionDecision, PermissionPendingParams, PermissionQuestion, PermissionRedeemParams,
    PermissionRuling, PermissionWithdrawParams, Redeem, Withdraw,
};
use hob_wire::rooms::session::{Create, SessionCreateParams};
use hob_wire::work::{Idempotency, Tier, ToolContext, ToolSpec};
use hob_wire::{ErrorCode, RunId, Scope, Scopes, WireError};
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Far longer than a call takes to join the question of another.
const JOINING: std::time::Duration = std::time::Duration::from_secs(3);

/// Settings with this file's text over the defaults of tool and permission rooms.
pub(crate) fn settings(text: &str) -> tokio::sync::watch::Receiver<Arc<Settings>> {
    let catalog = Arc::new(SettingsCatalog::new(&[
        hob_daemon::permission::KEYS,
        hob_daemon::tool::KEYS,
        &hob_tools::setting_keys(),
    ]));
    let settings = Settings::load(&catalog, "test", text, &EnvVars::default()).expect("loads");
    tokio::sync::watch::channel(Arc::new(settings)).1
}

pub(crate) fn house_with(text: &str) -> Fixture {
    let mut house = Fixture::new();
    house.context.settings = settings(text);
    house.context.randomness = Randomness::seeded(9);
    hob_daemon::permission::serve(&house.context).expect("is served");
    hob_daemon::session::serve(&house.context).expect("is served");
    house
}

pub(crate) fn run(number: u8) -> RunId {
    let id = format!("00000000-0000-7000-8000-0000000000{number:02x}");
    id.parse().expect("is an id")
}

fn tool(tier: Tier) -> ToolSpec {
    ToolSpec {
        name: "send".to_owned(),
        aliases: Vec::new(),
        description: "Sends.".to_owned(),
        parameters: json!({ "type": "object" }),
        tier,
        effect: Idempotency::Opaque,
        needs: Vec::new(),
        approval: "Send {what}".to_owned(),
        timeout_ms: None,
    }
}

fn context(call: &str) -> ToolContext {
    ToolContext {
        session_key: Some("chat:main".to_owned()),
        run_id: Some(run(1)),
        call_id: Some(call.to_owned()),
        ..ToolContext::default()
    }
}

fn asking(call: &str) -> PermissionAskParams {
    PermissionAskParams {
        tool: tool(Tier::External),
        args: json!({ "what": "a\u{202e}b" }),
        context: context(call),
        ceiling: None,
        approved: None,
        channel: None,
        unattended: false,
    }
}

fn redeeming(ticket: &str, call: &str) -> PermissionRedeemParams {
    PermissionRedeemParams {
        ticket: ticket.to_owned(),
        tool: "send".to_owned(),
        fingerprint: hob_core::permission::tool_fingerprint(&tool(Tier::External)),
        args: json!({ "what": "a\u{202e}b" }),
        context: context(call),
        state: None,
    }
}

fn answering(
    question: &PermissionQuestion,
    decision: PermissionDecision,
) -> PermissionAnswerParams {
    PermissionAnswerParams {
        id: question.id.clone(),
        decision,
        scope: None,
        digest: Some(question.digest.clone()),
    }
}

/// Asks in a task of its own; answers the task and the question it raised.
#[expect(clippy::disallowed_methods, reason = "a test has no Tasks")]
async fn asked(
    house: &Fixture,
    ask: PermissionAskParams,
) -> (
    JoinHandle<Result<PermissionRuling, WireError>>,
    PermissionQuestion,
) {
    let caller = house.caller();
    let task = tokio::spawn(async move { caller.call::<Ask>(&ask).await });
    let (_, payload) = house.heard("permission.requested").await;
    let question = serde_json::from_value(payload).expect("is a question");
    (task, question)
}

async fn ruling(task: JoinHandle<Result<PermissionRuling, WireError>>) -> PermissionRuling {
    task.await.expect("ends").expect("is decided")
}

#[tokio::test]
async fn a_yes_becomes_a_ticket_that_is_taken_up_once() {
    let house = house_with("");
    let caller = house.caller();
    let key = Some("chat:main".to_owned());
    let session = SessionCreateParams {
        session_key: key.clone(),
        ..SessionCreateParams::default()
    };
    caller.call::<Create>(&session).await.expect("creates");
    let (task, question) = asked(&house, asking("c1")).await;
    assert_eq!(question.sentence, r#"Send "a\u{202e}b""#);
    let of_session = PermissionPendingParams { session_key: key };
    let listed = caller.call::<Pending>(&of_session).await;
    let listed = listed.expect("lists").questions;
    assert_eq!((listed.len(), &listed[0]), (1, &question));

    let yes = answering(&question, PermissionDecision::Allow);
    let answered = caller.call::<Answer>(&yes).await.expect("counts");
    assert_eq!(answered.by, "test");
    let ruling = ruling(task).await;
    assert_eq!(ruling.decision, PermissionDecision::Allow);
    assert_eq!(ruling.digest.as_ref(), Some(&question.digest));
    let (notice, payload) = house.heard("permission.answered").await;
    assert!(notice.session.expect("is tagged").matches("chat:main"));
    assert_eq!(payload["by"], "test");

    let ticket = ruling.ticket.expect("has a ticket");
    let redeemed = caller.call::<Redeem>(&redeeming(&ticket, "c1")).await;
    assert_eq!(redeemed.expect("is good").digest, question.digest);
    let again = caller.call::<Redeem>(&redeeming(&ticket, "c1")).await;
    assert_eq!(code(again), ErrorCode::Forbidden);
    house.close().await;
}

#[tokio::test]
async fn a_ticket_is_good_for_nothing_else() {
    let house = house_with("");
    let caller = house.caller();
    let (task, question) = asked(&house, asking("c1")).await;
    let yes = answering(&question, PermissionDecision::Allow);
    caller.call::<Answer>(&yes).await.expect("counts");
    let ticket = ruling(task).await.ticket.expect("has a ticket");
    let mut other = redeeming(&ticket, "c1");
    other.args = json!({ "what": "more" });
    assert_eq!(
        code(caller.call::<Redeem>(&other).await),
        ErrorCode::Forbidden
    );
    // The wrong try has burnt it.
    let right = caller.call::<Redeem>(&redeeming(&ticket, "c1")).await;
    assert_eq!(code(right), ErrorCode::Forbidden);
    house.close().await;
}

#[tokio::test]
async fn of_two_answers_the_first_counts() {
    let house = house_with("");
    let caller = house.caller();
    let (task, question) = asked(&house, asking("c1")).await;
    let no = answering(&question, PermissionDecision::Deny);
    caller.call::<Answer>(&no).await.expect("counts");
    let yes = answering(&question, PermissionDecision::Allow);
    let late = caller.call::<Answer>(&yes).await.expect_err("is late");
    assert_eq!(late.code, ErrorCode::Conflict);
    assert!(late.message.contains("denied by test"), "{}", late.message);
    let ruling = ruling(task).await;
    assert_eq!(
        (ruling.decision, ruling.ticket),
        (PermissionDecision::Deny, None)
    );
    house.close().await;
}

#[tokio::test]
async fn answers_that_do_not_count_leave_the_question_open() {
    let house = house_with("");
    let caller = house.caller();
    let (task, question) = asked(&house, asking("c1")).await;
    let mut wrong = answering(&question, PermissionDecision::Allow);
    wrong.digest = Some("another".to_owned());
    assert_eq!(
        code(caller.call::<Answer>(&wrong).await),
        ErrorCode::Conflict
    );
    let mut wide = answering(&question, PermissionDecision::Allow);
    wide.scope = Some(AnswerReach::Folder);
    assert_eq!(
        code(caller.call::<Answer>(&wide).await),
        ErrorCode::InvalidParams,
        "the call has no folder"
    );
    let mut unknown = answering(&question, PermissionDecision::Allow);
    unknown.id = "nothing".to_owned();
    assert_eq!(
        code(caller.call::<Answer>(&unknown).await),
        ErrorCode::NotFound
    );
    let peer = PeerIdentity {
        name: "page".to_owned(),
        surface: "ws",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(Scope::Control),
    };
    let controller = house.bus.caller_as(peer).expect("connects");
    let yes = answering(&question, PermissionDecision::Allow);
    assert_eq!(
        code(controller.call::<Answer>(&yes).await),
        ErrorCode::Forbidden
    );
    assert!(!task.is_finished());
    caller.call::<Answer>(&yes).await.expect("counts");
    assert_eq!(ruling(task).await.decision, PermissionDecision::Allow);
    house.close().await;
}

#[tokio::test]
async fn silence_is_a_no() {
    let house = house_with("[permission]\ndeadline = \"1s\"\n");
    let (task, question) = asked(&house, asking("c1")).await;
    assert_eq!(question.deadline_at - question.asked_at, 1_000);
    let ruling = ruling(task).await;
    assert_eq!(ruling.decision, PermissionDecision::Deny);
    assert_eq!(ruling.by, "deadline");
    let (_, payload) = house.heard("permission.answered").await;
    assert_eq!(payload["by"], "deadline");
    let caller = house.caller();
    let yes = answering(&question, PermissionDecision::Allow);
    let late = caller.call::<Answer>(&yes).await;
    assert_eq!(code(late), ErrorCode::Conflict);
    let left = caller
        .call::<Pending>(&PermissionPendingParams::default())
        .await;
    assert!(left.expect("lists").questions.is_empty());
    house.close().await;
}

#[tokio::test]
async fn a_run_that_ends_takes_its_questions_back() {
    let house = house_with("");
    let (one, _) = asked(&house, asking("c1")).await;
    let (two, _) = asked(&house, asking("c2")).await;
    let mut other = asking("c1");
    other.context.run_id = Some(run(2));
    let (stays, question) = asked(&house, other).await;
    let caller = house.caller();
    let of_run = PermissionWithdrawParams { run_id: run(1) };
    let withdrawn = caller.call::<Withdraw>(&of_run).await;
    assert_eq!(withdrawn.expect("withdraws").questions, 2);
    for task in [one, two] {
        let ruling = ruling(task).await;
        assert_eq!(
            (ruling.decision, ruling.by.as_str()),
            (PermissionDecision::Deny, "withdrawn")
        );
    }
    assert!(!stays.is_finished());
    let yes = answering(&question, PermissionDecision::Allow);
    caller.call::<Answer>(&yes).await.expect("counts");
    assert_eq!(ruling(stays).await.decision, PermissionDecision::Allow);
    house.close().await;
}

#[tokio::test]
async fn the_same_call_asked_twice_is_one_question_with_one_ticket() {
    let house = house_with("");
    let (one, question) = asked(&house, asking("c1")).await;
    let caller = house.caller();
    let again = asking("c1");
    let both = async {
        let yes = answering(&question, PermissionDecision::Allow);
        let answer = async {
            // Nothing shows that the second one waits, too; it needs some milliseconds for it.
            tokio::time::sleep(JOINING).await;
            caller.call::<Answer>(&yes).await
        };
        let (second, answered) = tokio::join!(caller.call::<Ask>(&again), answer);
        answered.expect("counts");
        second.expect("is decided")
    };
    let second = both.await;
    assert_eq!(second.ticket, ruling(one).await.ticket);
    house.close().await;
}

#[tokio::test]
async fn rules_decide_without_a_question() {
    let house = house_with("");
    let caller = house.caller();
    let mut look = asking("c1");
    look.tool.tier = Tier::Read;
    look.tool.effect = Idempotency::Pure;
    look.context = ToolContext::default();
    let allowed = caller.call::<Ask>(&look).await.expect("is decided");
    assert_eq!(allowed.decision, PermissionDecision::Allow);
    assert_eq!(allowed.by, "rule:read");
    assert!(allowed.ticket.is_some());

    let mut beyond = asking("c2");
    beyond.ceiling = Some(Tier::Read);
    let denied = caller.call::<Ask>(&beyond).await.expect("is decided");
    assert_eq!(
        (denied.decision, denied.by.as_str()),
        (PermissionDecision::Deny, "rule:ceiling")
    );
    assert!(denied.reason.expect("says why").contains("external"));

    let mut nobody = asking("c3");
    nobody.context.session_key = None;
    let refused = caller.call::<Ask>(&nobody).await;
    assert_eq!(code(refused), ErrorCode::InvalidParams);
    let none = caller
        .call::<Pending>(&PermissionPendingParams::default())
        .await;
    assert!(none.expect("lists").questions.is_empty());
    house.close().await;
}

#[tokio::test]
async fn a_yes_of_the_journal_is_not_asked_again_but_holds_for_the_same_call_only() {
    let house = house_with("");
    let caller = house.caller();
    let (task, question) = asked(&house, asking("c1")).await;
    let yes = answering(&question, PermissionDecision::Allow);
    caller.call::<Answer>(&yes).await.expect("counts");
    let approved = ruling(task).await.digest;
    let mut resumed = asking("c1");
    resumed.approved.clone_from(&approved);
    let again = caller.call::<Ask>(&resumed).await.expect("is decided");
    assert_eq!(
        (again.decision, again.by.as_str()),
        (PermissionDecision::Allow, "journal")
    );

    let mut changed = asking("c1");
    changed.approved = approved;
    changed.tool.description = "Sends more.".to_owned();
    let (task, question) = asked(&house, changed).await;
    let no = answering(&question, PermissionDecision::Deny);
    caller.call::<Answer>(&no).await.expect("counts");
    assert_eq!(ruling(task).await.decision, PermissionDecision::Deny);
    house.close().await;
}
