//! `session.*`: conversations. Each method is one call of the store, which writes the rows and
//! their event in one transaction; an answer therefore means that it is on disk.

use crate::reserved;
use hob_bus::{Call, Room};
use hob_kit::failpoint;
use hob_store::Store;
use hob_wire::WireError;
use hob_wire::id::SessionRef;
use hob_wire::rooms::session::{
    Annotate, Create, CreateParams, Created, Delete, DeleteParams, Export, Get, GetParams, History,
    Label, List, Send, SendParams, Sent, SessionCreated, SessionDeleted, SessionMessage,
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
        .method::<Annotate, _, _>(over(store, |store, params| async move {
            Ok(store.annotate_session(params).await?)
        }))
        .method::<Label, _, _>(over(store, |store, params| async move {
            Ok(store.label_session(params).await?)
        }))
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
    let (key, kind) = (params.session_key.as_deref(), params.kind.as_deref());
    reserved::check(&call, &store, key, kind).await?;
    Ok(store.create_session(params).await?)
}

async fn send(store: Store, call: Call, params: SendParams) -> Result<Sent, WireError> {
    reserved::check(&call, &store, Some(&params.session_key), None).await?;
    failpoint::reach("session.send.before");
    let sent = store.send_message(params).await?;
    failpoint::reach("session.send.after");
    Ok(sent)
}
