//! `session.*`: conversations. Each method is one call of the store, which writes the rows and
//! their event in one transaction. A reply means that the change is on disk. `session.blocks` is
//! answered by the transcripts.

use crate::RoomContext;
use crate::reserved_sessions::{self, SessionTarget};
use crate::transcripts::Transcripts;
use hob_bus::{RequestContext, Room};
use hob_kit::failpoint;
use hob_store::{Store, StoreError};
use hob_wire::WireError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    Annotate, Blocks, Create, Delete, Draft, EVENTS, Export, Fork, Get, History, Label, List, Send,
    Session, SessionAnnotateParams, SessionBlocks, SessionBlocksParams, SessionCreateParams,
    SessionCreateResult, SessionDeleteParams, SessionDeleteResult, SessionDraftParams,
    SessionDraftResult, SessionExportParams, SessionForkParams, SessionForkResult,
    SessionGetParams, SessionHistoryParams, SessionLabelParams, SessionListParams,
    SessionListResult, SessionMessages, SessionSendParams, SessionSendResult,
};
use std::sync::Arc;

/// Requests handled at once. Writers share one fsync, so many at once make each cheap.
const CONCURRENCY: usize = 1_024;
/// The kind of a session that a person began.
const PERSONS_KIND: &str = "main";

/// Serves the room `sessions`.
pub fn serve(context: &RoomContext) -> Result<(), WireError> {
    let room = Room::new("sessions")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::new(SessionHandlers {
            store: context.store.clone(),
            transcripts: context.transcripts.clone(),
        }))
        .method(Create, create)
        .method(Fork, fork)
        .method(Get, get)
        .method(List, list)
        .method(History, history)
        .method(Blocks, blocks)
        .method(Send, send)
        .method(Draft, draft)
        .method(Delete, delete)
        .method(Export, export)
        .method(Annotate, annotate)
        .method(Label, label);
    context.bus.serve(room)
}

struct SessionHandlers {
    store: Store,
    transcripts: Transcripts,
}

async fn create(
    SessionHandlers { store, .. }: &SessionHandlers,
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

async fn fork(
    SessionHandlers { store, .. }: &SessionHandlers,
    call: RequestContext,
    params: SessionForkParams,
) -> Result<SessionForkResult, WireError> {
    let target = SessionTarget {
        session: params.new_key.as_deref(),
        kind: None,
        parent: Some(&params.session_key),
    };
    reserved_sessions::check_session_access(&call, store, target).await?;
    let source = SessionRef::parse(&params.session_key);
    let source = store.get_session(&source).await?;
    // A fork is a person's own: it must not count as a session whose kind grants or denies by
    // itself.
    let kind = reserved_sessions::is_reserved_kind(&source.kind).then_some(PERSONS_KIND);
    Ok(store.fork_session(params, kind).await?)
}

async fn get(handlers: &SessionHandlers, params: SessionGetParams) -> Result<Session, StoreError> {
    let session = SessionRef::parse(&params.session_key);
    handlers.store.get_session(&session).await
}

async fn list(
    handlers: &SessionHandlers,
    params: SessionListParams,
) -> Result<SessionListResult, StoreError> {
    handlers.store.list_sessions(params).await
}

async fn history(
    handlers: &SessionHandlers,
    params: SessionHistoryParams,
) -> Result<SessionMessages, StoreError> {
    handlers.store.history(params).await
}

async fn export(
    handlers: &SessionHandlers,
    params: SessionExportParams,
) -> Result<SessionMessages, StoreError> {
    handlers.store.export(params).await
}

async fn blocks(
    handlers: &SessionHandlers,
    params: SessionBlocksParams,
) -> Result<SessionBlocks, WireError> {
    handlers.transcripts.blocks(params).await
}

async fn delete(
    handlers: &SessionHandlers,
    params: SessionDeleteParams,
) -> Result<SessionDeleteResult, StoreError> {
    let session = SessionRef::parse(&params.session_key);
    let deleted = handlers.store.delete_session(&session).await?;
    handlers.transcripts.reset(&params.session_key);
    Ok(deleted)
}

async fn draft(
    SessionHandlers { store, .. }: &SessionHandlers,
    call: RequestContext,
    params: SessionDraftParams,
) -> Result<SessionDraftResult, WireError> {
    if params.draft.is_some() {
        check_written(&call, store, &params.session_key).await?;
    }
    Ok(store.session_draft(params).await?)
}

async fn annotate(
    SessionHandlers { store, .. }: &SessionHandlers,
    call: RequestContext,
    params: SessionAnnotateParams,
) -> Result<Session, WireError> {
    check_written(&call, store, &params.session_key).await?;
    Ok(store.annotate_session(params).await?)
}

async fn label(
    SessionHandlers { store, .. }: &SessionHandlers,
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
    SessionHandlers { store, transcripts }: &SessionHandlers,
    call: RequestContext,
    params: SessionSendParams,
) -> Result<SessionSendResult, WireError> {
    check_written(&call, store, &params.session_key).await?;
    failpoint::reach("session.send.before");
    let session = params.session_key.clone();
    let sent = store.send_message(params).await?;
    transcripts.add_message(&session, sent.seq).await;
    failpoint::reach("session.send.after");
    Ok(sent)
}
