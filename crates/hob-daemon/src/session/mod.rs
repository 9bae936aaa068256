//! `session.*`: conversations. Each method is one call of the store, which writes the rows and
//! their event in one transaction. A reply means that the change is on disk.

use crate::RoomContext;
use crate::reserved_sessions::{self, SessionTarget};
use hob_bus::{RequestContext, Room};
use hob_kit::failpoint;
use hob_store::{Store, StoreError};
use hob_wire::WireError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    Annotate, Create, Delete, EVENTS, Export, Get, History, Label, List, Send, Session,
    SessionAnnotateParams, SessionCreateParams, SessionCreateResult, SessionDeleteParams,
    SessionDeleteResult, SessionGetParams, SessionLabelParams, SessionSendParams,
    SessionSendResult,
};
use std::sync::Arc;

/// Requests handled at once. Writers share one fsync, so many at once make each cheap.
const CONCURRENCY: usize = 1_024;

/// Serves the room `sessions`.
pub fn serve(context: &RoomContext) -> Result<(), WireError> {
    let room = Room::new("sessions")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::new(context.store.clone()))
        .method(Create, create)
        .method(Get, get)
        .method(List, Store::list_sessions)
        .method(History, Store::history)
        .method(Send, send)
        .method(Delete, delete)
        .method(Export, Store::export)
        .method(Annotate, annotate)
        .method(Label, label);
    context.bus.serve(room)
}

async fn create(
    store: &Store,
    call: RequestContext,
    params: SessionCreateParams,
) -> Result<SessionCreateResult, WireError> {
    let target = SessionTarget {
        session: params.session_key.as_deref(),
        kind: params.kind.as_deref(),
        parent: params.parent.as_deref(),
    };
    reserved_sessions::check_session_access(&call, store, target).await?;
    Ok(store.create_session(params).await?)
}

async fn get(store: &Store, params: SessionGetParams) -> Result<Session, StoreError> {
    let session = SessionRef::parse(&params.session_key);
    store.get_session(&session).await
}

async fn delete(
    store: &Store,
    params: SessionDeleteParams,
) -> Result<SessionDeleteResult, StoreError> {
    let session = SessionRef::parse(&params.session_key);
    store.delete_session(&session).await
}

async fn annotate(
    store: &Store,
    call: RequestContext,
    params: SessionAnnotateParams,
) -> Result<Session, WireError> {
    check_written(&call, store, &params.session_key).await?;
    Ok(store.annotate_session(params).await?)
}

async fn label(
    store: &Store,
    call: RequestContext,
    params: SessionLabelParams,
) -> Result<Session, WireError> {
    check_written(&call, store, &params.session_key).await?;
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
    store: &Store,
    call: RequestContext,
    params: SessionSendParams,
) -> Result<SessionSendResult, WireError> {
    check_written(&call, store, &params.session_key).await?;
    failpoint::reach("session.send.before");
    let sent = store.send_message(params).await?;
    failpoint::reach("session.send.after");
    Ok(sent)
}
