//! `session.*`: conversations. Each method is one call of the store, which writes the rows and
//! their event in one transaction; an answer therefore means that it is on disk.

use crate::reserved::{self, Named};
use hob_bus::{Call, Room};
use hob_kit::failpoint;
use hob_store::Store;
use hob_wire::WireError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    Annotate, AnnotateParams, Create, CreateParams, Created, Delete, DeleteParams, Export, Get,
    GetParams, History, Label, LabelParams, List, Send, SendParams, Sent, Session, SessionCreated,
    SessionDeleted, SessionMessage,
};

/// Requests handled at once. Writers wait for a shared fsync, so many of them together are what
/// makes each cheap.
const CONCURRENCY: usize = 1_024;

/// The service `sessions`.
pub fn room(store: &Store) -> Room {
    Room::new("sessions")
        .concurrency(CONCURRENCY)
        .method::<Create, _, _>({
            let store = store.clone();
            move |call, params| create(store.clone(), call, params)
        })
        .method::<Get, _, _>(over(store, |store, params: GetParams| async move {
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
        .method::<Delete, _, _>(over(store, |store, params: DeleteParams| async move {
            let session = SessionRef::parse(&params.session_key);
            Ok(store.delete_session(&session).await?)
        }))
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

/// A handler that works on the store and does not care who calls.
fn over<P, Fut>(
    store: &Store,
    work: fn(Store, P) -> Fut,
) -> impl Fn(Call, P) -> Fut + std::marker::Send + Sync + 'static
where
    P: 'static,
    Fut: 'static,
{
    let store = store.clone();
    move |_, params| work(store.clone(), params)
}

async fn create(store: Store, call: Call, params: CreateParams) -> Result<Created, WireError> {
    let named = Named {
        session: params.session_key.as_deref(),
        kind: params.kind.as_deref(),
        parent: params.parent.as_deref(),
    };
    reserved::check(&call, &store, named).await?;
    Ok(store.create_session(params).await?)
}

async fn annotate(store: Store, call: Call, params: AnnotateParams) -> Result<Session, WireError> {
    check_written(&call, &store, &params.session_key).await?;
    Ok(store.annotate_session(params).await?)
}

async fn label(store: Store, call: Call, params: LabelParams) -> Result<Session, WireError> {
    check_written(&call, &store, &params.session_key).await?;
    Ok(store.label_session(params).await?)
}

/// Refuses to write to a session that is not the caller's to use.
async fn check_written(call: &Call, store: &Store, session: &str) -> Result<(), WireError> {
    let named = Named {
        session: Some(session),
        ..Named::default()
    };
    reserved::check(call, store, named).await
}

async fn send(store: Store, call: Call, params: SendParams) -> Result<Sent, WireError> {
    check_written(&call, &store, &params.session_key).await?;
    failpoint::reach("session.send.before");
    let sent = store.send_message(params).await?;
    failpoint::reach("session.send.after");
    Ok(sent)
}
