//! `session.*`: conversations. Each method is one call of the store, which writes the rows and
//! their event in one transaction. A reply means that the change is on disk.

use crate::reserved_sessions::{self, SessionTarget};
use hob_bus::{RequestContext, Room};
use hob_kit::failpoint;
use hob_store::Store;
use hob_wire::WireError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    Annotate, Create, Delete, Export, Get, History, Label, List, Send, Session,
    SessionAnnotateParams, SessionCreateParams, SessionCreateResult, SessionCreated,
    SessionDeleteParams, SessionDeleted, SessionGetParams, SessionLabelParams, SessionMessage,
    SessionSendParams, SessionSendResult,
};

/// Requests handled at once. Writers share one fsync, so many at once make each cheap.
const CONCURRENCY: usize = 1_024;

/// The service `sessions`.
pub fn room(store: &Store) -> Room {
    Room::new("sessions")
        .concurrency(CONCURRENCY)
        .method::<Create, _, _>({
            let store = store.clone();
            move |call, params| create(store.clone(), call, params)
        })
        .method::<Get, _, _>(over(store, |store, params: SessionGetParams| async move {
            let session = SessionRef::parse(&params.session_key);
            Ok(store.get_session(&session).await?)
        }))
        .method::<List, _, _>(over(store, |store, params| async move {
            Ok(store.list_sessions(params).await?)
        }))
        .method::<History, _, _>(over(store, |store, params| async move {
            Ok(store.history(params).await?)
        }))
        .method::<Send, _, _>({
            let store = store.clone();
            move |call, params| send(store.clone(), call, params)
        })
        .method::<Delete, _, _>(over(
            store,
            |store, params: SessionDeleteParams| async move {
                let session = SessionRef::parse(&params.session_key);
                Ok(store.delete_session(&session).await?)
            },
        ))
        .method::<Export, _, _>(over(store, |store, params| async move {
            Ok(store.export(params).await?)
        }))
        .method::<Annotate, _, _>({
            let store = store.clone();
            move |call, params| annotate(store.clone(), call, params)
        })
        .method::<Label, _, _>({
            let store = store.clone();
            move |call, params| label(store.clone(), call, params)
        })
        .event::<SessionCreated>()
        .event::<SessionMessage>()
        .event::<SessionDeleted>()
}

/// A handler that uses only the store and ignores the caller.
fn over<P, Fut>(
    store: &Store,
    work: fn(Store, P) -> Fut,
) -> impl Fn(RequestContext, P) -> Fut + std::marker::Send + Sync + 'static
where
    P: 'static,
    Fut: 'static,
{
    let store = store.clone();
    move |_, params| work(store.clone(), params)
}

async fn create(
    store: Store,
    call: RequestContext,
    params: SessionCreateParams,
) -> Result<SessionCreateResult, WireError> {
    let target = SessionTarget {
        session: params.session_key.as_deref(),
        kind: params.kind.as_deref(),
        parent: params.parent.as_deref(),
    };
    reserved_sessions::check_session_access(&call, &store, target).await?;
    Ok(store.create_session(params).await?)
}

async fn annotate(
    store: Store,
    call: RequestContext,
    params: SessionAnnotateParams,
) -> Result<Session, WireError> {
    check_written(&call, &store, &params.session_key).await?;
    Ok(store.annotate_session(params).await?)
}

async fn label(
    store: Store,
    call: RequestContext,
    params: SessionLabelParams,
) -> Result<Session, WireError> {
    check_written(&call, &store, &params.session_key).await?;
    Ok(store.label_session(params).await?)
}

/// Refuses a write to a session that the caller may not use.
async fn check_written(
    call: &RequestContext,
    store: &Store,
    session: &str,
) -> Result<(), WireError> {
    let target = SessionTarget {
        session: Some(session),
        ..SessionTarget::default()
    };
    reserved_sessions::check_session_access(call, store, target).await
}

async fn send(
    store: Store,
    call: RequestContext,
    params: SessionSendParams,
) -> Result<SessionSendResult, WireError> {
    check_written(&call, &store, &params.session_key).await?;
    failpoint::reach("session.send.before");
    let sent = store.send_message(params).await?;
    failpoint::reach("session.send.after");
    Ok(sent)
}
