//! `session.draft` through the bus: who may read and write it.

use crate::fixture::{Fixture, code};
use hob_bus::{Caller, PeerIdentity};
use hob_wire::rooms::session::{
    Create, Draft, Export, SessionCreateParams, SessionDraftParams, SessionExportParams,
};
use hob_wire::{ErrorCode, Scope, Scopes};

fn client(house: &Fixture, scope: Scope) -> Caller {
    let peer = PeerIdentity {
        name: "client".to_owned(),
        surface: "http",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(scope),
    };
    house.bus.caller_as(peer).expect("connects")
}

fn draft_of(key: &str, draft: Option<&str>) -> SessionDraftParams {
    SessionDraftParams {
        session_key: key.to_owned(),
        draft: draft.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_draft_is_shared_between_clients_and_is_no_message() {
    let house = Fixture::new();
    hob_daemon::session::serve(&house.context).expect("is served");
    for (key, kind) in [("chat:main", "main"), ("loop:watch", "loop")] {
        let create = SessionCreateParams {
            session_key: Some(key.to_owned()),
            kind: Some(kind.to_owned()),
            ..SessionCreateParams::default()
        };
        let caller = house.caller();
        caller.call::<Create>(&create).await.expect("creates");
    }
    let (one, two) = (client(&house, Scope::Chat), client(&house, Scope::Chat));
    let written = draft_of("chat:main", Some("not yet"));
    one.call::<Draft>(&written).await.expect("writes");
    let read = two.call::<Draft>(&draft_of("chat:main", None)).await;
    assert_eq!(read.expect("reads").draft, "not yet");
    let export = SessionExportParams {
        session_key: "chat:main".to_owned(),
        after: None,
        limit: None,
    };
    let page = two.call::<Export>(&export).await.expect("reads");
    assert_eq!(page.messages, []);

    // What somebody types and does not send is not for readers.
    let reader = client(&house, Scope::Read);
    let refused = reader.call::<Draft>(&draft_of("chat:main", None)).await;
    assert_eq!(code(refused), ErrorCode::Forbidden);
    let reserved = draft_of("loop:watch", Some("x"));
    let refused = one.call::<Draft>(&reserved).await;
    assert_eq!(code(refused), ErrorCode::Forbidden);
    let control = client(&house, Scope::Control);
    control.call::<Draft>(&reserved).await.expect("writes");
    let missing = one.call::<Draft>(&draft_of("none", Some("x"))).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    house.close().await;
}
