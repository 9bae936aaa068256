//! Grants of jobs, which are exactly the stored rules.

use super::{House, job};
use hob_kit::clock::Clock;
use hob_store::JobRow;
use hob_wire::rooms::cron::{
    Add, AgentWork, CronAddParams, CronJob, CronListParams, CronUpdateParams, JobDefinition,
    JobSelector, JobWork, List, Remove, ToolGrant, ToolGrantView, Update,
};
use hob_wire::rooms::permission;
use hob_wire::rooms::permission::PermissionRule;
use std::collections::BTreeMap;

fn grant(tool: &str) -> ToolGrant {
    ToolGrant {
        tool: tool.to_owned(),
        matches: BTreeMap::new(),
        path: None,
        host: None,
    }
}

async fn jobs(house: &House) -> Vec<CronJob> {
    let listed = house
        .caller()
        .call::<List>(&CronListParams::default())
        .await;
    listed.expect("lists").jobs
}

/// Returns the grants of the only job, as `cron.list` shows them.
async fn may(house: &House) -> Vec<String> {
    let mut jobs = jobs(house).await;
    let grants = jobs.remove(0).terms.grants;
    grants.into_iter().map(|grant| grant.tool).collect()
}

/// Returns the stored rules, by tool.
async fn rules(house: &House) -> Vec<PermissionRule> {
    let params = permission::PermissionListParams::default();
    let listed = house.caller().call::<permission::List>(&params).await;
    let mut rules = listed.expect("lists").rules;
    rules.sort_by(|one, other| one.terms.tool.cmp(&other.terms.tool));
    rules
}

async fn update(house: &House, change: CronUpdateParams) -> CronJob {
    let changed = house.caller().call::<Update>(&change).await;
    changed.expect("is changed")
}

fn change(id: &str) -> CronUpdateParams {
    CronUpdateParams {
        id: id.to_owned(),
        ..CronUpdateParams::default()
    }
}

#[tokio::test]
async fn a_grant_that_was_removed_stays_away_until_somebody_grants_it_again() {
    let house = House::new();
    let params = CronAddParams {
        grants: Some(vec![grant("exec"), grant("write"), grant("exec")]),
        ..job("tidy", "@yearly")
    };
    let added = house.caller().call::<Add>(&params).await;
    assert_eq!(added.expect("is added").terms.grants.len(), 2);
    let stored = rules(&house).await;
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[0].terms.sessions.as_deref(), Some("cron:tidy:*"));
    let gone = permission::PermissionRemoveParams {
        id: stored[0].id.clone(),
    };
    let removed = house.caller().call::<permission::Remove>(&gone).await;
    removed.expect("is removed");
    assert_eq!(may(&house).await, ["write"]);
    // Changing something else leaves the grants alone, whatever it is.
    for other in [
        CronUpdateParams {
            description: Some("tidies".to_owned()),
            ..change("tidy")
        },
        CronUpdateParams {
            task: Some("Tidy up.".to_owned()),
            ..change("tidy")
        },
        CronUpdateParams {
            name: Some("tidy-up".to_owned()),
            ..change("tidy")
        },
        CronUpdateParams {
            schedule: Some("webhook".to_owned()),
            ..change("tidy-up")
        },
    ] {
        let changed = update(&house, other).await;
        assert_eq!(changed.terms.grants.len(), 1, "{changed:?}");
        assert_eq!(may(&house).await, ["write"]);
    }
    let stored = rules(&house).await;
    assert_eq!(stored.len(), 1);
    let sessions = stored[0].terms.sessions.as_deref();
    assert_eq!(sessions, Some("webhook:tidy-up:*"), "they went along");
    // One that names grants replaces them.
    let named = CronUpdateParams {
        grants: Some(vec![grant("exec")]),
        ..change("tidy-up")
    };
    update(&house, named).await;
    assert_eq!(may(&house).await, ["exec"]);
    let none = CronUpdateParams {
        grants: Some(Vec::new()),
        ..change("tidy-up")
    };
    update(&house, none).await;
    assert!(may(&house).await.is_empty() && rules(&house).await.is_empty());
    house.fixture.close().await;
}

#[tokio::test]
async fn rules_go_with_their_job_and_those_of_others_stay() {
    let house = House::new();
    for name in ["a", "b"] {
        let params = CronAddParams {
            grants: Some(vec![grant("exec")]),
            ..job(name, "@yearly")
        };
        house.caller().call::<Add>(&params).await.expect("is added");
    }
    let gone = JobSelector { id: "a".to_owned() };
    let removed = house.caller().call::<Remove>(&gone).await;
    removed.expect("is removed");
    let left = rules(&house).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].terms.sessions.as_deref(), Some("cron:b:*"));
    house.fixture.close().await;
}

#[tokio::test]
async fn a_start_grants_nothing() {
    // As a former version left it: a list of its own, and a rule that a person removed since.
    let row = |now: u64| JobRow {
        id: "cron-old".to_owned(),
        terms: JobDefinition {
            grants: vec![ToolGrantView::from(grant("exec"))],
            name: "old".to_owned(),
            schedule: "@yearly".to_owned(),
            work: JobWork::Agent(AgentWork {
                task: "Tidy up.".to_owned(),
                ..AgentWork::default()
            }),
            ..JobDefinition::default()
        },
        enabled: true,
        cursor_ms: now,
        failures: 0,
        problem: None,
        nonce: "n".to_owned(),
        created_at: now,
        updated_at: now,
    };
    let clock = Clock::system();
    let now = clock.wall_ms();
    let house = House::before(clock, async |store| {
        store.add_job(row(now), Vec::new()).await.expect("is kept");
    })
    .await;
    assert!(may(&house).await.is_empty());
    let described = CronUpdateParams {
        description: Some("old".to_owned()),
        ..change("old")
    };
    assert!(update(&house, described).await.terms.grants.is_empty());
    assert!(rules(&house).await.is_empty());
    house.fixture.close().await;
}
