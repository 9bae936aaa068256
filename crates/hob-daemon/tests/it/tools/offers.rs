//! Tools of services outside: offered, refused, gone and back.

use super::{house, house_saying, house_tools, spec, start, words};
use crate::fixture::code;
use crate::outside::{Outside, answers, said};
use hob_wire::rooms::tool::{
    Describe, List, OutsideTool, SetTier, Tier, ToolDescribeParams, ToolListParams,
    ToolSetTierParams,
};
use hob_wire::work::{Idempotency, ToolSpec};
use hob_wire::{ErrorCode, Scopes, WireError};
use serde_json::{Value, json};

#[tokio::test]
async fn tools_of_each_effect_are_served_over_the_bus() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |params| {
            said(&format!("{} {}", params["name"], params["args"]["n"]))
        })]),
    )
    .await;
    let classes = ["pure", "keyed", "probeable", "opaque"];
    let specs: Vec<Value> = classes.iter().map(|class| spec(class, class)).collect();
    let offer = json!({ "service": "lab", "tools": specs });
    let offered = service.call("tool.offer", offer).await.expect("is taken");
    assert_eq!(offered, json!({ "names": classes }));
    for class in classes {
        let call = house.call("c1", class, json!({ "n": 3 }));
        let call = house.approved(call).await;
        let answer = house.execute(&call).await.expect("runs");
        assert_eq!(words(&answer), format!("\"{class}\" 3"));
        let (method, params) = service.asked().await;
        assert_eq!(method, "lab.tool_execute");
        assert_eq!(params["context"]["key"], "key-1");
        assert_eq!(params["context"]["callId"], "c1");
        assert_eq!(params.get("ticket"), None, "a ticket stays in the house");
    }
    let wrong = house.call("c1", "pure", json!({ "n": "three" }));
    assert!(house.execute(&wrong).await.expect("is answered").is_error);
    assert!(
        service.was_left_alone().await,
        "what does not fit is not run"
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn a_list_is_sent_again_only_when_it_changed() {
    let house = house();
    let list = async |known: Option<&str>| {
        let params = ToolListParams {
            known: known.map(str::to_owned),
        };
        let caller = house.fixture.caller();
        caller.call::<List>(&params).await.expect("lists")
    };
    let first = list(None).await;
    assert_eq!(first.tools.len(), house_tools(&[]).len());
    let same = list(Some(&first.revision)).await;
    assert!(same.tools.is_empty());
    assert_eq!(same.revision, first.revision);
    let service = Outside::serve(&house.fixture, "lab", answers([])).await;
    let offer = json!({ "service": "lab", "tools": [spec("mine", "pure")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let changed = list(Some(&first.revision)).await;
    assert_ne!(changed.revision, first.revision);
    assert_eq!(changed.tools.len(), first.tools.len() + 1);
    house.fixture.close().await;
}

#[tokio::test]
async fn an_offer_is_checked() {
    let house = house();
    let service = Outside::serve(&house.fixture, "lab", answers([])).await;
    let other = Outside::serve(&house.fixture, "shop", answers([])).await;
    let taken = json!({ "service": "shop", "tools": [spec("sell", "opaque")] });
    other.call("tool.offer", taken).await.expect("is taken");
    let with = |name: &str, value: Value| {
        let mut changed = spec("mine", "opaque");
        changed[name] = value;
        changed
    };
    for (tool, expected) in [
        (with("name", json!("read")), "CONFLICT"),
        (with("aliases", json!(["time"])), "CONFLICT"),
        (with("name", json!("sell")), "CONFLICT"),
        (with("name", json!("Mine")), "INVALID_PARAMS"),
        (with("name", json!("")), "INVALID_PARAMS"),
        (with("name", json!("a\u{202e}b")), "INVALID_PARAMS"),
        (
            with("description", json!("x".repeat(5_000))),
            "INVALID_PARAMS",
        ),
        (with("approval", json!(" ")), "INVALID_PARAMS"),
        (
            with("parameters", json!({ "type": "string" })),
            "INVALID_PARAMS",
        ),
        (
            with(
                "parameters",
                json!({ "type": "object", "$ref": "http://x" }),
            ),
            "INVALID_PARAMS",
        ),
        (
            with("needs", json!([{ "kind": "path", "arg": "p" }])),
            "INVALID_PARAMS",
        ),
        (with("timeoutMs", json!(3_600_000)), "INVALID_PARAMS"),
        (with("tier", json!("none")), "INVALID_PARAMS"),
    ] {
        let offer = json!({ "service": "lab", "tools": [tool] });
        let refused = service.call("tool.offer", offer).await;
        let refused = refused.expect_err("is refused");
        assert_eq!(refused["code"], expected, "{refused}");
    }
    let twice = json!({ "service": "lab", "tools": [spec("a", "pure"), spec("a", "pure")] });
    let refused = service.call("tool.offer", twice).await;
    assert_eq!(refused.expect_err("is refused")["code"], "INVALID_PARAMS");
    let many: Vec<Value> = (0..129).map(|n| spec(&format!("t{n}"), "pure")).collect();
    let refused = service.call("tool.offer", json!({ "service": "lab", "tools": many }));
    assert_eq!(
        refused.await.expect_err("is refused")["code"],
        "INVALID_PARAMS"
    );
    assert_eq!(house.names().await, house_tools(&["sell"]));
    house.fixture.close().await;
}

#[tokio::test]
async fn only_a_registered_service_offers_and_only_for_itself() {
    let house = house();
    let scopes = |text: &str| text.parse::<Scopes>().expect("is sound");
    let lab = Outside::serve(&house.fixture, "lab", answers([])).await;
    for (peer, service, expected) in [
        ("read", "lab", "FORBIDDEN"),
        ("read,service:shop", "lab", "FORBIDDEN"),
        ("read,service:shop", "shop", "CONFLICT"),
        ("admin", "tools", "FORBIDDEN"),
        ("service:lab", "lab", "FORBIDDEN"),
    ] {
        let peer = Outside::connect(&house.fixture, "peer", scopes(peer), answers([]));
        let offer = json!({ "service": service, "tools": [spec("x", "pure")] });
        let refused = peer.call("tool.offer", offer).await;
        assert_eq!(refused.expect_err("is refused")["code"], expected);
    }
    // A service that runs no tools has none to offer.
    let bare = Outside::connect(
        &house.fixture,
        "bare",
        scopes("read,service:bare"),
        answers([]),
    );
    let register = json!({ "service": "bare", "methods": ["bare.hello"] });
    bare.call("gateway.register", register)
        .await
        .expect("is registered");
    let offer = json!({ "service": "bare", "tools": [spec("x", "pure")] });
    let refused = bare
        .call("tool.offer", offer)
        .await
        .expect_err("is refused");
    assert!(refused["message"].to_string().contains("bare.tool_execute"));
    assert_eq!(house.names().await, house_tools(&[]));
    drop(lab);
    house.fixture.close().await;
}

#[tokio::test]
async fn tools_go_with_their_service_and_come_back_with_it() {
    let house = house();
    let offer = || json!({ "service": "lab", "tools": [spec("mix", "keyed")] });
    let works = || answers([("tool_execute", |_| said("mixed"))]);
    let service = Outside::serve(&house.fixture, "lab", works()).await;
    service.call("tool.offer", offer()).await.expect("is taken");
    let call = house.approved(house.call("c1", "mix", json!({}))).await;
    service.leave().await;
    house.until("mix", false).await;
    // Without a ticket nobody waits.
    let bare = house.execute(&house.call("c2", "mix", json!({}))).await;
    assert!(words(&bare.expect("is answered")).contains("There is no tool 'mix'"));
    // With one, the call waits until the service is back.
    let waiting = start(&house, call);
    let service = Outside::serve(&house.fixture, "lab", works()).await;
    service.call("tool.offer", offer()).await.expect("is taken");
    let answer = waiting.await.expect("ends").expect("runs");
    assert_eq!(words(&answer), "mixed");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_service_that_reconnects_before_its_end_is_heard_keeps_its_new_tools() {
    let house = house();
    for round in 0..20 {
        let service = Outside::serve(&house.fixture, "lab", answers([])).await;
        let name = format!("tool_{round}");
        let offer = json!({ "service": "lab", "tools": [spec(&name, "pure")] });
        service.call("tool.offer", offer).await.expect("is taken");
        // The next connection of the same credential takes this one's place.
        let next = Outside::serve(&house.fixture, "lab", answers([])).await;
        let name = format!("again_{round}");
        let offer = json!({ "service": "lab", "tools": [spec(&name, "pure")] });
        next.call("tool.offer", offer).await.expect("is taken");
        house.until(&format!("tool_{round}"), false).await;
        assert!(house.names().await.contains(&name), "round {round}");
        next.leave().await;
        house.until(&name, false).await;
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_tool_that_never_comes_back_is_told_to_the_model() {
    let house = house_saying("[tool]\nreturn_wait = \"50ms\"\n");
    let service = Outside::serve(&house.fixture, "lab", answers([])).await;
    let offer = json!({ "service": "lab", "tools": [spec("mix", "keyed")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "mix", json!({}))).await;
    service.leave().await;
    house.until("mix", false).await;
    let answer = house.execute(&call).await.expect("is answered");
    assert!(answer.is_error && words(&answer).contains("There is no tool 'mix'"));
    let describe = ToolDescribeParams {
        name: "mix".to_owned(),
        wait: true,
    };
    let missing = house.fixture.caller().call::<Describe>(&describe).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_tool_that_changed_since_its_approval_is_not_run() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |_| said("done"))]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("mix", "keyed")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "mix", json!({}))).await;
    let mut changed = spec("mix", "keyed");
    changed["description"] = json!("Does something else.");
    let offer = json!({ "service": "lab", "tools": [changed] });
    service.call("tool.offer", offer).await.expect("is taken");
    assert_eq!(code(house.execute(&call).await), ErrorCode::Forbidden);
    assert!(service.was_left_alone().await);
    house.fixture.close().await;
}

async fn described(house: &super::House, name: &str) -> ToolSpec {
    let describe = ToolDescribeParams {
        name: name.to_owned(),
        wait: false,
    };
    let caller = house.fixture.caller();
    caller.call::<Describe>(&describe).await.expect("is there")
}

async fn set_tier(
    house: &super::House,
    name: &str,
    tier: Option<Tier>,
) -> Result<OutsideTool, WireError> {
    let params = ToolSetTierParams {
        name: name.to_owned(),
        tier,
        reset: tier.is_none(),
    };
    house.fixture.caller().call::<SetTier>(&params).await
}

#[tokio::test]
async fn what_a_service_says_of_its_own_tools_is_not_believed() {
    let house = house();
    let lab = Outside::serve(&house.fixture, "lab", answers([])).await;
    let mut claims = spec("peek", "pure");
    claims["tier"] = json!("read");
    let offer = json!({ "service": "lab", "tools": [claims] });
    lab.call("tool.offer", offer.clone())
        .await
        .expect("is taken");
    let counts = async |tier, effect| {
        let found = described(&house, "peek").await;
        assert_eq!((found.tier, found.effect), (tier, effect));
    };
    counts(Tier::External, Idempotency::Opaque).await;
    let set = set_tier(&house, "peek", Some(Tier::Write)).await;
    assert_eq!(set.expect("is set").declared_tier, Tier::Read);
    counts(Tier::Write, Idempotency::Pure).await;
    // Gone and back with the same words, it is known again.
    lab.leave().await;
    house.until("peek", false).await;
    let lab = Outside::serve(&house.fixture, "lab", answers([])).await;
    lab.call("tool.offer", offer.clone())
        .await
        .expect("is taken");
    counts(Tier::Write, Idempotency::Pure).await;
    let reset = set_tier(&house, "peek", None).await.expect("is reset");
    assert_eq!(reset.set_by, None);
    counts(Tier::External, Idempotency::Opaque).await;
    // Another service of that name of a tool begins anew, and so does the first one then.
    set_tier(&house, "peek", Some(Tier::Read))
        .await
        .expect("is set");
    lab.leave().await;
    house.until("peek", false).await;
    let shop = Outside::serve(&house.fixture, "shop", answers([])).await;
    let mut theirs = offer.clone();
    theirs["service"] = json!("shop");
    shop.call("tool.offer", theirs).await.expect("is taken");
    counts(Tier::External, Idempotency::Opaque).await;
    shop.leave().await;
    house.until("peek", false).await;
    let lab = Outside::serve(&house.fixture, "lab", answers([])).await;
    lab.call("tool.offer", offer).await.expect("is taken");
    counts(Tier::External, Idempotency::Opaque).await;
    house.fixture.close().await;
}

#[tokio::test]
async fn a_tier_is_set_for_a_tool_that_a_service_offers_now() {
    let house = house();
    let missing = set_tier(&house, "peek", Some(Tier::Read)).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    let own = set_tier(&house, "exec", Some(Tier::Read)).await;
    assert_eq!(code(own), ErrorCode::Conflict);
    let caller = house.fixture.caller();
    for (tier, reset) in [(None, false), (Some(Tier::Read), true)] {
        let params = ToolSetTierParams {
            name: "exec".to_owned(),
            tier,
            reset,
        };
        let neither = caller.call::<SetTier>(&params).await;
        assert_eq!(code(neither), ErrorCode::InvalidParams);
    }
    let lab = Outside::serve(&house.fixture, "lab", answers([])).await;
    let mut aliased = spec("peek", "pure");
    aliased["aliases"] = json!(["look_in"]);
    let offer = json!({ "service": "lab", "tools": [aliased] });
    lab.call("tool.offer", offer).await.expect("is taken");
    let by_alias = set_tier(&house, "look_in", Some(Tier::Read)).await;
    assert_eq!(code(by_alias), ErrorCode::NotFound);
    let listed = caller.call::<List>(&ToolListParams::default()).await;
    let outside = listed.expect("lists").outside;
    assert_eq!(outside.len(), 1);
    assert_eq!(
        (outside[0].service.as_str(), outside[0].tier),
        ("lab", Tier::External)
    );
    house.fixture.close().await;
}
