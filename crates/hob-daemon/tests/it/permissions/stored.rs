//! Stored rules through the bus: what answers store, what rules decide, who may change them, and
//! what the record keeps.

use super::{answering, asked, asking, house_with, ruling, run};
use crate::fixture::{Fixture, code};
use hob_bus::PeerIdentity;
use hob_wire::rooms::audit::{
    AuditExportParams, AuditVerifyParams, Export, List as AuditList, Verify,
};
use hob_wire::rooms::permission::{
    Add, Answer, AnswerReach, Ask, List, PermissionAddParams, PermissionAskParams,
    PermissionDecision, PermissionListParams, PermissionRemoveParams, PermissionWithdrawParams,
    Remove, RuleDecision, Withdraw,
};
use hob_wire::rooms::session::{Create, Delete, SessionCreateParams, SessionDeleteParams};
use hob_wire::rule::AuditEntry;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier};
use hob_wire::{ErrorCode, Scope, Scopes};
use serde_json::json;

fn house(text: &str) -> Fixture {
    let house = house_with(text);
    hob_daemon::audit::serve(&house.context).expect("is served");
    house
}

async fn session(house: &Fixture, key: &str, kind: Option<&str>) {
    let params = SessionCreateParams {
        session_key: Some(key.to_owned()),
        kind: kind.map(str::to_owned),
        ..SessionCreateParams::default()
    };
    house
        .caller()
        .call::<Create>(&params)
        .await
        .expect("creates");
}

/// A command of a service's tool, in a folder.
fn command(call: &str, command: &str) -> PermissionAskParams {
    let mut ask = asking(call);
    ask.tool.name = "shell".to_owned();
    ask.tool.tier = Tier::Exec;
    ask.tool.effect = Idempotency::Opaque;
    ask.tool.needs = vec![ResourceNeed {
        kind: NeedKind::Command,
        arg: "command".to_owned(),
    }];
    ask.args = json!({ "command": command });
    ask.context.workspace = Some("/w/app".to_owned());
    ask
}

fn rule(tool: &str, decision: RuleDecision) -> PermissionAddParams {
    let rule = json!({ "tool": tool, "decision": decision, "scope": "always" });
    serde_json::from_value(rule).expect("is a rule")
}

async fn record(house: &Fixture) -> Vec<AuditEntry> {
    let page = house
        .caller()
        .call::<Export>(&AuditExportParams { after: 0 })
        .await;
    page.expect("exports").entries
}

#[tokio::test]
async fn an_answer_for_the_session_stores_what_it_offered_and_the_next_is_not_asked() {
    let house = house("");
    session(&house, "chat:main", None).await;
    let caller = house.caller();
    let (task, question) = asked(&house, command("c1", "make *; echo")).await;
    let scopes: Vec<AnswerReach> = question.offers.iter().map(|terms| terms.scope).collect();
    assert_eq!(
        scopes,
        [
            AnswerReach::Run,
            AnswerReach::Session,
            AnswerReach::Folder,
            AnswerReach::Always
        ]
    );
    let mut yes = answering(&question, PermissionDecision::Allow);
    yes.scope = Some(AnswerReach::Session);
    let answered = caller.call::<Answer>(&yes).await.expect("counts");
    assert_eq!(answered.scope, AnswerReach::Session);
    assert_eq!(ruling(task).await.decision, PermissionDecision::Allow);
    let rules = caller
        .call::<List>(&PermissionListParams::default())
        .await
        .expect("lists")
        .rules;
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].terms, question.offers[1], "exactly what was shown");
    assert_eq!(rules[0].created_by, "test");

    let by = format!("rule:{}", rules[0].id);
    let second = caller.call::<Ask>(&command("c2", "make *; echo")).await;
    let second = second.expect("is decided");
    assert_eq!(
        (second.decision, second.by.as_str()),
        (PermissionDecision::Allow, by.as_str())
    );
    // Another command, and the same one in another session, are asked.
    let (other, question) = asked(&house, command("c3", "make x; echo")).await;
    caller
        .call::<Answer>(&answering(&question, PermissionDecision::Deny))
        .await
        .expect("counts");
    ruling(other).await;
    session(&house, "chat:other", None).await;
    let mut elsewhere = command("c4", "make *; echo");
    elsewhere.context.session_key = Some("chat:other".to_owned());
    let (other, question) = asked(&house, elsewhere).await;
    caller
        .call::<Answer>(&answering(&question, PermissionDecision::Deny))
        .await
        .expect("counts");
    ruling(other).await;

    let gone = SessionDeleteParams {
        session_key: "chat:main".to_owned(),
    };
    caller.call::<Delete>(&gone).await.expect("deletes");
    let left = caller
        .call::<List>(&PermissionListParams::default())
        .await
        .expect("lists");
    assert!(left.rules.is_empty(), "it went with its session");
    let acts: Vec<String> = record(&house).await.into_iter().map(|it| it.act).collect();
    let expected = [
        "asked",
        "allowed",
        "rule-added",
        "allowed",
        "asked",
        "denied",
        "asked",
        "denied",
    ];
    assert_eq!(acts, expected);
    house.close().await;
}

#[tokio::test]
async fn a_no_for_the_run_is_a_rule_too() {
    let house = house("");
    let caller = house.caller();
    let (task, question) = asked(&house, command("c1", "rm x")).await;
    let mut no = answering(&question, PermissionDecision::Deny);
    no.scope = Some(AnswerReach::Run);
    caller.call::<Answer>(&no).await.expect("counts");
    assert_eq!(ruling(task).await.decision, PermissionDecision::Deny);
    let again = caller
        .call::<Ask>(&command("c2", "rm x"))
        .await
        .expect("is decided");
    assert_eq!(again.decision, PermissionDecision::Deny);
    assert!(again.by.starts_with("rule:"), "{}", again.by);
    house.close().await;
}

#[tokio::test]
async fn rules_hold_until_they_are_removed_and_a_no_beats_a_yes() {
    let house = house("");
    let caller = house.caller();
    let yes = caller
        .call::<Add>(&rule("shell", RuleDecision::Allow))
        .await;
    let yes = yes.expect("adds");
    let ask = |call| command(call, "make");
    let allowed = caller.call::<Ask>(&ask("c1")).await.expect("is decided");
    assert_eq!(allowed.decision, PermissionDecision::Allow);
    let no = caller
        .call::<Add>(&rule("*", RuleDecision::Deny))
        .await
        .expect("adds");
    let denied = caller.call::<Ask>(&ask("c2")).await.expect("is decided");
    assert_eq!(
        (denied.decision, denied.by),
        (PermissionDecision::Deny, format!("rule:{}", no.id))
    );
    let beginning = PermissionRemoveParams {
        id: no.id[..8].to_owned(),
    };
    assert_eq!(
        caller.call::<Remove>(&beginning).await.expect("removes").id,
        no.id
    );
    let again = caller.call::<Remove>(&beginning).await;
    assert_eq!(code(again), ErrorCode::NotFound);
    let allowed = caller.call::<Ask>(&ask("c3")).await.expect("is decided");
    assert_eq!(allowed.by, format!("rule:{}", yes.id));
    let mut wrong = rule("shell", RuleDecision::Allow);
    wrong.path = Some("relative".to_owned());
    assert_eq!(
        code(caller.call::<Add>(&wrong).await),
        ErrorCode::InvalidParams
    );
    // Above its ceiling no rule helps.
    let mut beyond = ask("c4");
    beyond.ceiling = Some(Tier::Write);
    let denied = caller.call::<Ask>(&beyond).await.expect("is decided");
    assert_eq!(denied.by, "rule:ceiling");
    house.close().await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_answer_is_no_with_the_rule_that_would_help() {
    let house = house("[permission.channels]\ntelegram = \"exec\"\n");
    session(&house, "cron:daily", Some("cron")).await;
    let caller = house.caller();
    let plain = |ask: &mut PermissionAskParams| ask.unattended = true;
    let cron =
        |ask: &mut PermissionAskParams| ask.context.session_key = Some("cron:daily".to_owned());
    let channel = |ask: &mut PermissionAskParams| ask.channel = Some("telegram".to_owned());
    let ways: [&dyn Fn(&mut PermissionAskParams); 3] = [&plain, &cron, &channel];
    for (number, change) in ways.iter().enumerate() {
        let mut ask = command(&format!("c{number}"), &format!("make {number}"));
        change(&mut ask);
        let denied = caller.call::<Ask>(&ask).await.expect("is decided");
        assert_eq!(
            (denied.decision, denied.by.as_str()),
            (PermissionDecision::Deny, "unattended")
        );
        assert!(denied.reason.expect("says why").contains("Nobody"));
        let grant = denied.grant.expect("names a rule");
        assert_eq!(grant.kind.as_deref(), (number == 1).then_some("cron"));
        assert_eq!(
            grant.channel.as_deref(),
            (number == 2).then_some("telegram")
        );
        caller.call::<Add>(&grant.into()).await.expect("adds");
        let allowed = caller.call::<Ask>(&ask).await.expect("is decided");
        assert_eq!(allowed.decision, PermissionDecision::Allow, "way {number}");
    }
    // A channel that no setting names may read, and no more.
    let mut unknown = command("c9", "make 0");
    unknown.channel = Some("matrix".to_owned());
    let denied = caller.call::<Ask>(&unknown).await.expect("is decided");
    assert_eq!(denied.by, "rule:ceiling");
    assert_eq!(denied.grant, None);
    house.close().await;
}

#[tokio::test]
async fn modes_and_kinds_are_live_settings_of_the_house() {
    let house = house("[permission]\nmode = \"read-only\"\n[permission.kinds]\ncron = \"write\"\n");
    session(&house, "cron:daily", Some("cron")).await;
    let caller = house.caller();
    let denied = caller
        .call::<Ask>(&command("c1", "make"))
        .await
        .expect("is decided");
    assert_eq!(
        (denied.decision, denied.by.as_str()),
        (PermissionDecision::Deny, "mode:read-only")
    );
    let mut cron = command("c2", "make");
    cron.context.session_key = Some("cron:daily".to_owned());
    let denied = caller.call::<Ask>(&cron).await.expect("is decided");
    assert_eq!(denied.by, "rule:ceiling");
    house.close().await;
}

#[tokio::test]
async fn only_an_admin_decides() {
    let house = house("");
    let (task, question) = asked(&house, command("c1", "make")).await;
    let kept = house
        .caller()
        .call::<Add>(&rule("other", RuleDecision::Allow))
        .await;
    let kept = kept.expect("adds");
    let service = Scopes::none().with_service("shell");
    for scopes in [
        service,
        Scopes::rank(Scope::Control),
        Scopes::rank(Scope::Chat),
    ] {
        let peer = PeerIdentity {
            name: "shell".to_owned(),
            surface: "ws",
            principal: "t1".to_owned(),
            scopes,
        };
        let outside = house.bus.caller_as(peer).expect("connects");
        let mut yes = answering(&question, PermissionDecision::Allow);
        yes.scope = Some(AnswerReach::Always);
        let refused = [
            code(outside.call::<Answer>(&yes).await),
            code(
                outside
                    .call::<Add>(&rule("shell", RuleDecision::Allow))
                    .await,
            ),
            code(
                outside
                    .call::<Remove>(&PermissionRemoveParams {
                        id: kept.id.clone(),
                    })
                    .await,
            ),
            code(outside.call::<Ask>(&command("c2", "make")).await),
            code(
                outside
                    .call::<Withdraw>(&PermissionWithdrawParams { run_id: run(1) })
                    .await,
            ),
            code(
                outside
                    .call::<Export>(&AuditExportParams { after: 0 })
                    .await,
            ),
        ];
        assert_eq!(refused, [ErrorCode::Forbidden; 6]);
    }
    assert!(!task.is_finished());
    let rules = house
        .caller()
        .call::<List>(&PermissionListParams::default())
        .await;
    assert_eq!(rules.expect("lists").rules.len(), 1);
    let no = answering(&question, PermissionDecision::Deny);
    house.caller().call::<Answer>(&no).await.expect("counts");
    ruling(task).await;
    house.close().await;
}

#[tokio::test]
async fn the_record_tells_who_what_and_holds() {
    let house = house("");
    let caller = house.caller();
    let long = "x".repeat(5_000);
    let (task, question) = asked(&house, command("c1", &long)).await;
    caller
        .call::<Answer>(&answering(&question, PermissionDecision::Allow))
        .await
        .expect("counts");
    ruling(task).await;
    let verified = caller
        .call::<Verify>(&AuditVerifyParams::default())
        .await
        .expect("verifies");
    assert_eq!((verified.entries, &verified.problem), (2, &None));
    let of_run = hob_wire::rooms::audit::AuditListParams {
        run_id: Some(run(1)),
        limit: Some(1),
        ..Default::default()
    };
    let listed = caller.call::<AuditList>(&of_run).await.expect("lists");
    assert!(listed.more);
    let last = &listed.entries[0];
    assert_eq!((last.act.as_str(), last.by.as_str()), ("allowed", "test"));
    assert_eq!(last.matter["args"]["command"]["bytes"], 5_000);
    assert_eq!(last.matter["digest"], json!(question.digest));
    let head = AuditVerifyParams {
        head: Some(verified.head),
    };
    caller
        .call::<Add>(&rule("a", RuleDecision::Ask))
        .await
        .expect("adds");
    let later = caller.call::<Verify>(&head).await.expect("verifies");
    assert_eq!((later.entries, later.problem), (3, None));
    let other = AuditVerifyParams {
        head: Some("0123".to_owned()),
    };
    let cut = caller.call::<Verify>(&other).await.expect("verifies");
    assert!(cut.problem.is_some());
    house.close().await;
}
