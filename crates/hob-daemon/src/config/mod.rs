//! `config.*`: reads, describes and changes settings.
//!
//! - `schema`: the declarations; `undo`: changes of the file, and the last one taken back
//!
//! Invariants: changes happen one at a time; the file is changed before anything applies, and only
//! to a text that parses without a problem; settings that need a restart keep their value in
//! [`RoomContext::settings`] until then; file-only settings are never set over the wire.

mod schema;
mod undo;

use crate::RoomContext;
use bytes::Bytes;
use hob_bus::{NewEvent, Room};
use hob_kit::settings::{SettingKey, SettingSource, SettingValue, Settings, SettingsCatalog};
use hob_wire::rooms::config::{
    self as wire, ApplyStatus, ConfigChange, ConfigChanged, ConfigGetParams, ConfigSchemaResult,
    ConfigSetParams, ConfigSetting, ConfigUndoParams, EVENTS, Get, Schema, Set, Undo,
};
use hob_wire::{ErrorCode, EventTopic, WireError};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use undo::{ChangeError, FileChange};

/// Applies changed settings at once, so that the reply `now` is true when it is sent.
pub type ApplySettings = Box<dyn Fn(&Settings) + Send + Sync>;

struct ConfigContext {
    deps: RoomContext,
    apply: ApplySettings,
    /// The settings of the file. An async lock: held while the file is written, so that changes
    /// queue.
    configured: Mutex<Settings>,
    /// Sets the settings in effect, which every room watches.
    effective: watch::Sender<Arc<Settings>>,
}

/// Serves the room `config`. `effective` sends the settings that the context watches.
pub fn serve(
    context: &RoomContext,
    effective: watch::Sender<Arc<Settings>>,
    apply: ApplySettings,
) -> Result<(), WireError> {
    let config = ConfigContext {
        deps: context.clone(),
        apply,
        configured: Mutex::new(Settings::clone(&context.settings())),
        effective,
    };
    let room = Room::new("config")
        .events(EVENTS)
        .state(Arc::new(config))
        .method(Get, ConfigContext::get)
        .method(Set, ConfigContext::set)
        .method(Schema, ConfigContext::schema)
        .method(Undo, ConfigContext::undo);
    context.bus.serve(room)
}

impl ConfigContext {
    async fn get(&self, params: ConfigGetParams) -> Result<wire::ConfigGetResult, WireError> {
        let configured = self.configured.lock().await;
        let wanted = params.key.unwrap_or_default();
        let below = format!("{wanted}.");
        let all = wanted.is_empty();
        let settings: Vec<ConfigSetting> = configured
            .entries()
            .filter(|(path, _)| all || *path == wanted || path.starts_with(&below))
            .map(|(path, entry)| ConfigSetting {
                key: path.to_owned(),
                value: entry.value.to_json(),
                origin: wire_origin(entry.origin),
                live: configured.catalog().find(path).is_some_and(|key| key.live),
            })
            .collect();
        if settings.is_empty() && !all {
            return Err(unknown_setting(configured.catalog(), &wanted));
        }
        Ok(wire::ConfigGetResult { settings })
    }

    async fn set(&self, params: ConfigSetParams) -> Result<ConfigChange, WireError> {
        let mut configured = self.configured.lock().await;
        let catalog = Arc::clone(configured.catalog());
        let key = *settable(&catalog, &params.key)?;
        let value = match &params.value {
            serde_json::Value::Null => None,
            json => Some(key.kind.from_json(json).map_err(|reason| {
                WireError::new(
                    ErrorCode::InvalidParams,
                    format!("{}: {reason}.", params.key),
                )
            })?),
        };
        let (change, newer) = self.plan(&catalog, &params.key, value).await?;
        // Before the file: a change that could not be taken back exactly is not offered at all.
        self.remember(Some(&change)).await;
        self.write(change).await?;
        self.take_effect(&mut configured, newer, &params.key).await
    }

    async fn schema(&self, params: ConfigGetParams) -> Result<ConfigSchemaResult, WireError> {
        let configured = self.configured.lock().await;
        let wanted = params.key.unwrap_or_default();
        let effective = Arc::clone(&self.effective.borrow());
        let described = schema::describe(&configured, &effective, &wanted);
        if described.settings.is_empty() && !wanted.is_empty() {
            return Err(unknown_setting(configured.catalog(), &wanted));
        }
        Ok(described)
    }

    async fn undo(&self, _: ConfigUndoParams) -> Result<ConfigChange, WireError> {
        let mut configured = self.configured.lock().await;
        let record = self.deps.store.config_undo().await?;
        let change: Option<FileChange> =
            record.and_then(|record| serde_json::from_str(&record).ok());
        let Some(change) = change else {
            let message = "There is no change of a setting to take back.";
            return Err(WireError::new(ErrorCode::NotFound, message));
        };
        let catalog = Arc::clone(configured.catalog());
        let (file, env) = (self.deps.home.config_file(), self.deps.env.clone());
        let reversed = on_blocking_thread(move || change.reversed(&file, &catalog, &env)).await?;
        let Some((reversed, older)) = reversed else {
            let message = "The config file was changed since the last `config.set`, so that change cannot be taken back alone. Nothing was changed.";
            return Err(WireError::new(ErrorCode::Conflict, message));
        };
        let key = reversed.key.clone();
        self.write(reversed).await?;
        self.remember(None).await;
        self.take_effect(&mut configured, older, &key).await
    }

    /// Plans a change of the file on a blocking thread; returns its new settings too.
    async fn plan(
        &self,
        catalog: &Arc<SettingsCatalog>,
        path: &str,
        value: Option<SettingValue>,
    ) -> Result<(FileChange, Settings), WireError> {
        let file = self.deps.home.config_file();
        let (catalog, env, path) = (Arc::clone(catalog), self.deps.env.clone(), path.to_owned());
        on_blocking_thread(move || FileChange::plan(&file, (&path, value.as_ref()), &catalog, &env))
            .await
    }

    async fn write(&self, change: FileChange) -> Result<(), WireError> {
        let file = self.deps.home.config_file();
        on_blocking_thread(move || change.write(&file)).await
    }

    /// Stores the change that may be taken back. A failure is only reported: settings can be
    /// changed even while the store accepts no work.
    async fn remember(&self, change: Option<&FileChange>) {
        let record = change.and_then(|change| serde_json::to_string(change).ok());
        if let Err(error) = self.deps.store.set_config_undo(record).await {
            tracing::warn!("the last change of a setting cannot be taken back: {error}");
        }
    }

    /// Applies what the file says now; returns the change of the key `asked`.
    async fn take_effect(
        &self,
        configured: &mut Settings,
        newer: Settings,
        asked: &str,
    ) -> Result<ConfigChange, WireError> {
        // Cloned, because a borrow of the watch would block `send_replace` below.
        let effective = Arc::clone(&self.effective.borrow());
        let changes = changes(&effective, configured, &newer, asked);
        // The file is written: from here on the change must not fail.
        *configured = newer;
        let effective = effective.with_live_from(configured);
        (self.apply)(&effective);
        self.effective.send_replace(Arc::new(effective));
        for change in &changes {
            self.log_change(change).await;
        }
        let asked = changes.into_iter().find(|change| change.key == asked);
        asked.ok_or_else(|| WireError::new(ErrorCode::Internal, "the change got lost"))
    }

    /// Logs the event. A failure is only reported, because the file has changed already.
    async fn log_change(&self, change: &ConfigChange) {
        let Ok(payload) = serde_json::to_vec(change) else {
            return;
        };
        let event = NewEvent {
            source: ConfigChanged::SPEC.service.into(),
            topic: ConfigChanged::SPEC.topic.into(),
            session: None,
            payload: Some(Bytes::from(payload)),
        };
        if let Err(error) = self.deps.store.append_event(event).await {
            tracing::warn!(key = change.key, "config.changed was not logged: {error}");
        }
    }
}

/// The declaration of a key that may be set over the wire.
fn settable<'c>(catalog: &'c SettingsCatalog, path: &str) -> Result<&'c SettingKey, WireError> {
    let key = catalog
        .find(path)
        .ok_or_else(|| unknown_setting(catalog, path))?;
    if key.over_wire {
        return Ok(key);
    }
    Err(WireError::new(
        ErrorCode::Forbidden,
        format!(
            "'{path}' is never changed over the wire; edit the file that 'hob config path' names, then run 'hob restart'."
        ),
    ))
}

/// The changes that setting `asked` made: that key first, then everything else that was edited in
/// the file by hand since it was last read.
fn changes(
    effective: &Settings,
    old: &Settings,
    newer: &Settings,
    asked: &str,
) -> Vec<ConfigChange> {
    let differs = |path: &str| old.entry(path) != newer.entry(path);
    let others = newer.entries().map(|(path, _)| path);
    let others = others.filter(|path| *path != asked && differs(path));
    std::iter::once(asked)
        .chain(others)
        .map(|path| {
            let value = newer.entry(path).map(|entry| entry.value.to_json());
            ConfigChange {
                key: path.to_owned(),
                value: value.unwrap_or_default(),
                applied: applied(effective, newer, path),
            }
        })
        .collect()
}

fn applied(effective: &Settings, newer: &Settings, path: &str) -> ApplyStatus {
    let entry = newer.entry(path);
    if entry.is_some_and(|entry| entry.origin == SettingSource::Env) {
        return ApplyStatus::Overridden;
    }
    let live = newer.catalog().find(path).is_some_and(|key| key.live);
    let value = |settings: &Settings| settings.entry(path).map(|entry| entry.value.clone());
    if live || value(effective) == value(newer) {
        ApplyStatus::Now
    } else {
        ApplyStatus::Restart
    }
}

fn unknown_setting(catalog: &SettingsCatalog, path: &str) -> WireError {
    let hint = match catalog.nearest(path) {
        Some(near) => format!("did you mean '{near}'?"),
        None => "'hob config show' lists them all.".to_owned(),
    };
    WireError::new(
        ErrorCode::NotFound,
        format!("There is no setting '{path}'; {hint}"),
    )
}

async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ChangeError> + Send + 'static,
) -> Result<T, WireError> {
    let interrupted = |_| {
        let message = "The change was interrupted; try again.";
        WireError::new(ErrorCode::ServiceUnavailable, message)
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(interrupted)?
        .map_err(|error| change_error(&error))
}

fn change_error(error: &ChangeError) -> WireError {
    let code = match error {
        ChangeError::Io(_) => ErrorCode::ServiceUnavailable,
        ChangeError::Edit(_) | ChangeError::Refused(_) | ChangeError::ChangedMeanwhile => {
            ErrorCode::Conflict
        }
    };
    WireError::new(code, format!("Nothing was changed: {error}"))
}

fn wire_origin(origin: SettingSource) -> wire::ConfigOrigin {
    match origin {
        SettingSource::Default => wire::ConfigOrigin::Default,
        SettingSource::File => wire::ConfigOrigin::File,
        SettingSource::Env => wire::ConfigOrigin::Env,
    }
}
