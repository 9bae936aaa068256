//! Rooms whose handlers share a state: every shape of handler, the hook before them, and events.

use crate::fixture::until;
use hob_bus::{Bus, RequestContext, Room};
use hob_kit::tasks::TaskGroup;
use hob_wire::rooms::{config, log, session};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

#[derive(Default)]
struct NoteList {
    lines: Mutex<Vec<String>>,
    is_ready: watch::Sender<bool>,
}

/// A failure that is not a wire error yet.
struct NoteMissing;

impl From<NoteMissing> for WireError {
    fn from(_: NoteMissing) -> WireError {
        WireError::new(ErrorCode::NotFound, "it is missing")
    }
}

impl NoteList {
    fn add(&self, line: String) {
        self.lines.lock().expect("held").push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("held").clone()
    }

    async fn wait_ready(self: Arc<Self>) {
        let mut is_ready = self.is_ready.subscribe();
        is_ready.wait_for(|ready| *ready).await.expect("it lives");
    }
}

async fn get(
    notes: &NoteList,
    params: config::ConfigGetParams,
) -> Result<config::ConfigGetResult, NoteMissing> {
    notes.add(format!("get {}", params.key.ok_or(NoteMissing)?));
    Ok(config::ConfigGetResult { settings: vec![] })
}

async fn set(
    notes: &Arc<NoteList>,
    call: RequestContext,
    params: config::ConfigSetParams,
) -> Result<config::ConfigChange, WireError> {
    notes.add(format!("set {} by {}", params.key, call.caller));
    Ok(config::ConfigChange {
        key: params.key,
        value: json!(Arc::strong_count(notes) > 1),
        applied: config::ApplyStatus::Now,
    })
}

async fn heard(notes: Arc<NoteList>, line: log::LogRecord) {
    notes.add(format!("heard {}", line.message));
}

async fn delete(
    notes: &Arc<NoteList>,
    params: session::SessionDeleteParams,
) -> Result<session::SessionDeleteResult, WireError> {
    notes.add(format!("delete {}", params.session_key));
    Err(NoteMissing.into())
}

async fn label(
    notes: &NoteList,
    call: RequestContext,
    params: session::SessionLabelParams,
) -> Result<session::Session, NoteMissing> {
    notes.add(format!("label {} by {}", params.session_key, call.caller));
    Err(NoteMissing)
}

fn wanted(key: Option<&str>) -> config::ConfigGetParams {
    config::ConfigGetParams {
        key: key.map(str::to_owned),
    }
}

#[tokio::test]
async fn every_shape_of_handler_answers_with_the_shared_state() {
    let bus = Bus::in_memory(&TaskGroup::new());
    let notes = Arc::new(NoteList::default());
    let room = Room::new("config")
        .events(config::EVENTS)
        .state(Arc::clone(&notes))
        .method(config::Get, get)
        .method(config::Set, set)
        .method(session::Delete, delete)
        .method(session::Label, label);
    bus.serve(room).expect("served");
    let caller = bus.caller("test");
    caller
        .call::<config::Get>(&wanted(Some("a")))
        .await
        .expect("found");
    let missing = caller.call::<config::Get>(&wanted(None)).await;
    assert_eq!(missing.expect_err("missing").code, ErrorCode::NotFound);
    let set = config::ConfigSetParams {
        key: "b".to_owned(),
        value: json!(1),
    };
    let set = caller.call::<config::Set>(&set).await.expect("set");
    assert_eq!(set.value, json!(true));
    let session_key = "c".to_owned();
    let deleted = session::SessionDeleteParams { session_key };
    let deleted = caller.call::<session::Delete>(&deleted).await;
    assert_eq!(deleted.expect_err("missing").code, ErrorCode::NotFound);
    let labelled = session::SessionLabelParams {
        session_key: "d".to_owned(),
        label: None,
    };
    let labelled = caller.call::<session::Label>(&labelled).await;
    assert_eq!(labelled.expect_err("missing").code, ErrorCode::NotFound);
    assert_eq!(
        notes.lines(),
        ["get a", "set b by test", "delete c", "label d by test"]
    );
}

#[tokio::test]
async fn handlers_wait_for_the_hook_before_them_and_events_do_not() {
    let bus = Bus::in_memory(&TaskGroup::new());
    let notes = Arc::new(NoteList::default());
    let room = Room::new("config")
        .state(Arc::clone(&notes))
        .before(NoteList::wait_ready)
        .method(config::Get, get)
        .on(log::LogLine, heard);
    bus.serve(room).expect("served");
    let caller = bus.caller("test");
    let params = wanted(Some("a"));
    let mut asked = std::pin::pin!(caller.call::<config::Get>(&params));
    let early = tokio::time::timeout(Duration::from_millis(20), &mut asked).await;
    assert!(early.is_err(), "it waits");
    let line = log::LogRecord {
        at: 0,
        level: "info".into(),
        target: String::new(),
        message: "one".into(),
    };
    bus.emitter("log").emit::<log::LogLine>(None, &line);
    until(|| notes.lines() == ["heard one"]).await;
    notes.is_ready.send_replace(true);
    asked.await.expect("found");
    assert_eq!(notes.lines(), ["heard one", "get a"]);
}
