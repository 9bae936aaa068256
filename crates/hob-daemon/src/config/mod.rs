//! `config.*`: reading and changing settings.
//!
//! Invariants: changes happen one at a time; the file is changed before anything applies, and
//! only to a text that reads without a problem; settings that need a restart keep their value in
//! [`Config::watch`] until then; what only the file may say is never set over the wire.

use bytes::Bytes;
use hob_bus::{NewEvent, Room};
use hob_kit::home::Home;
use hob_kit::settings::edit::{self, SetError};
use hob_kit::settings::{Catalog, Key, Origin, Problems, Settings, Value};
use hob_kit::world::Env;
use hob_store::Store;
use hob_wire::rooms::config::{
    self as wire, Applied, Changed, ConfigChanged, Get, GetParams, Set, SetParams, Setting,
};
use hob_wire::{ErrorCode, Topic, WireError};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// Takes over changed settings at once, so that an answer `now` is true when it is given.
pub type Apply = Box<dyn Fn(&Settings) + Send + Sync>;

/// What the room is made of.
pub struct Parts {
    pub home: Home,
    pub env: Env,
    /// As they were read at the start.
    pub settings: Settings,
    /// Where `config.changed` is logged.
    pub store: Store,
    pub apply: Apply,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// The settings of the running daemon; cheap to clone.
#[derive(Clone, Debug)]
pub struct Config(Arc<Shared>);

struct Shared {
    home: Home,
    env: Env,
    store: Store,
    apply: Apply,
    /// What the file says now. An async lock: held while the file is written, so that changes
    /// queue.
    configured: Mutex<Settings>,
    /// What is in effect.
    effective: watch::Sender<Arc<Settings>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").finish_non_exhaustive()
    }
}

impl Config {
    pub fn new(parts: Parts) -> Config {
        let (effective, _) = watch::channel(Arc::new(parts.settings.clone()));
        Config(Arc::new(Shared {
            home: parts.home,
            env: parts.env,
            store: parts.store,
            apply: parts.apply,
            configured: Mutex::new(parts.settings),
            effective,
        }))
    }

    /// What is in effect, now and after each change.
    pub fn watch(&self) -> watch::Receiver<Arc<Settings>> {
        self.0.effective.subscribe()
    }

    async fn get(&self, params: GetParams) -> Result<wire::Settings, WireError> {
        let configured = self.0.configured.lock().await;
        let wanted = params.key.unwrap_or_default();
        let below = format!("{wanted}.");
        let all = wanted.is_empty();
        let settings: Vec<Setting> = configured
            .entries()
            .filter(|(path, _)| all || *path == wanted || path.starts_with(&below))
            .map(|(path, entry)| Setting {
                key: path.to_owned(),
                value: entry.value.to_json(),
                origin: origin(entry.origin),
                live: configured.catalog().find(path).is_some_and(|key| key.live),
            })
            .collect();
        if settings.is_empty() && !all {
            return Err(unknown(configured.catalog(), &wanted));
        }
        Ok(wire::Settings { settings })
    }

    async fn set(&self, params: SetParams) -> Result<Changed, WireError> {
        let mut configured = self.0.configured.lock().await;
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
        let newer = self.write(&catalog, &params.key, value).await?;
        let effective = Arc::clone(&self.0.effective.borrow());
        let changes = changes(&effective, &configured, &newer, &params.key);
        *configured = newer;
        let effective = effective.with_live_from(&configured);
        (self.0.apply)(&effective);
        self.0.effective.send_replace(Arc::new(effective));
        for change in &changes {
            self.announce(change).await;
        }
        let asked = changes.into_iter().find(|change| change.key == params.key);
        asked.ok_or_else(|| WireError::new(ErrorCode::Internal, "the change got lost"))
    }

    /// Changes the file, on a thread that may wait for the disk, and answers what it says now.
    async fn write(
        &self,
        catalog: &Arc<Catalog>,
        path: &str,
        value: Option<Value>,
    ) -> Result<Settings, WireError> {
        let file = self.0.home.config_file();
        let (catalog, env, path) = (Arc::clone(catalog), self.0.env.clone(), path.to_owned());
        let written = tokio::task::spawn_blocking(move || {
            let name = file.display().to_string();
            let mut newer = None;
            edit::set_in_file(&file, &path, value.as_ref(), |text| {
                newer = Some(Settings::load(&catalog, &name, text, &env)?);
                Ok(())
            })?;
            Ok(newer)
        });
        let failed = |text: String| WireError::new(ErrorCode::ServiceUnavailable, text);
        match written.await {
            Ok(Ok(Some(newer))) => Ok(newer),
            Ok(Ok(None)) => Err(WireError::new(ErrorCode::Internal, "nothing was checked")),
            Ok(Err(error)) => Err(refused(&error)),
            Err(_) => Err(failed("The change was interrupted; try again.".to_owned())),
        }
    }

    /// Logs the event. The file has changed already, so a failure is only reported.
    async fn announce(&self, change: &Changed) {
        let Ok(payload) = serde_json::to_vec(change) else {
            return;
        };
        let event = NewEvent {
            source: ConfigChanged::SPEC.service.into(),
            topic: ConfigChanged::SPEC.topic.into(),
            session: None,
            payload: Some(Bytes::from(payload)),
        };
        if let Err(error) = self.0.store.append_event(event).await {
            tracing::warn!(key = change.key, "config.changed was not logged: {error}");
        }
    }
}

/// The service `config`.
pub fn room(config: Config) -> Room {
    let setter = config.clone();
    Room::new("config")
        .method::<Get, _, _>(move |_, params| {
            let config = config.clone();
            async move { config.get(params).await }
        })
        .method::<Set, _, _>(move |_, params| {
            let config = setter.clone();
            async move { config.set(params).await }
        })
        .event::<ConfigChanged>()
}

/// The key's declaration, if it may be set over the wire.
fn settable<'c>(catalog: &'c Catalog, path: &str) -> Result<&'c Key, WireError> {
    let key = catalog.find(path).ok_or_else(|| unknown(catalog, path))?;
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

/// What the change of `asked` did: that key first, then whatever else a person had edited in the
/// file by hand since it was last read.
fn changes(effective: &Settings, old: &Settings, newer: &Settings, asked: &str) -> Vec<Changed> {
    let differs = |path: &str| old.entry(path) != newer.entry(path);
    let others = newer.entries().map(|(path, _)| path);
    let others = others.filter(|path| *path != asked && differs(path));
    std::iter::once(asked)
        .chain(others)
        .map(|path| {
            let value = newer.entry(path).map(|entry| entry.value.to_json());
            Changed {
                key: path.to_owned(),
                value: value.unwrap_or_default(),
                applied: applied(effective, newer, path),
            }
        })
        .collect()
}

fn applied(effective: &Settings, newer: &Settings, path: &str) -> Applied {
    let entry = newer.entry(path);
    if entry.is_some_and(|entry| entry.origin == Origin::Env) {
        return Applied::Overridden;
    }
    let live = newer.catalog().find(path).is_some_and(|key| key.live);
    let value = |settings: &Settings| settings.entry(path).map(|entry| entry.value.clone());
    if live || value(effective) == value(newer) {
        Applied::Now
    } else {
        Applied::Restart
    }
}

fn unknown(catalog: &Catalog, path: &str) -> WireError {
    let hint = match catalog.nearest(path) {
        Some(near) => format!("did you mean '{near}'?"),
        None => "'hob config show' lists them all.".to_owned(),
    };
    WireError::new(
        ErrorCode::NotFound,
        format!("There is no setting '{path}'; {hint}"),
    )
}

fn refused(error: &SetError<Problems>) -> WireError {
    let code = match error {
        SetError::Io(_) => ErrorCode::ServiceUnavailable,
        SetError::Edit(_) | SetError::Refused(_) => ErrorCode::Conflict,
    };
    WireError::new(code, format!("Nothing was changed: {error}"))
}

fn origin(origin: Origin) -> wire::Origin {
    match origin {
        Origin::Default => wire::Origin::Default,
        Origin::File => wire::Origin::File,
        Origin::Env => wire::Origin::Env,
    }
}
