//! What callers ask of the room.

use super::Shared;
use super::owner::{self, Begin, Command, Handle};
use super::words::{loop_of, monitor, owner};
use crate::errand::record_set;
use crate::grants::{self, GrantPlanner};
use hob_bus::Call;
use hob_core::rounds::{Event, Machine, Policy, check_config, check_name, merged};
use hob_models::BookError;
use hob_store::{MemoryKind, NewLoop, Remember, RuleChange, Started, StoreError, WhichStart};
use hob_wire::rooms::loops::{
    CreateParams, DEFAULT_LOOP, Deleted, HistoryParams, Iterations, ListParams, Loop, LoopChange,
    LoopConfig, LoopState, Loops, Memories, Memory, NameParams, OnceParams, PersistentParams,
    UpdateParams, WorkingParams,
};
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a single iteration may take to begin before its caller is answered all the same.
const BEGIN_WAIT: Duration = Duration::from_secs(10);
/// The surface of the house's own callers.
const HOUSE: &str = "house";

impl Shared {
    pub(super) async fn create(
        self: Arc<Self>,
        call: Call,
        params: CreateParams,
    ) -> Result<Loop, WireError> {
        let name = params.name;
        check_name(&name).map_err(wrong)?;
        let _pen = self.roll.pen(&name).await;
        if self.parts.store.loop_row(&name).await?.is_some() {
            let message =
                format!("There is a loop '{name}' already; change it, or choose another name.");
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        let none = LoopConfig::default();
        let (config, rules) = self.settle(&call, &name, &none, params.config).await?;
        let new = NewLoop {
            name: name.clone(),
            config,
            persistent: params.persistent.unwrap_or_default(),
            working: params.working.unwrap_or_default(),
            by: call.caller,
            rules,
        };
        self.parts.store.create_loop(new).await?;
        self.shown(&name).await
    }

    pub(super) async fn update(
        self: Arc<Self>,
        call: Call,
        params: UpdateParams,
    ) -> Result<Loop, WireError> {
        let name = params.name;
        let _pen = self.roll.pen(&name).await;
        self.ensure(&name).await?;
        let Some(row) = self.parts.store.loop_row(&name).await? else {
            return Err(missing(&name));
        };
        let (config, rules) = self
            .settle(&call, &name, &row.config, params.config)
            .await?;
        let store = &self.parts.store;
        store.update_loop(&name, config.clone(), rules).await?;
        if let Some(handle) = self.roll.find(&name) {
            // An owner that is just leaving needs no settings.
            let changed = Command::Changed(Box::new(config));
            let _ = handle.commands.send(changed).await;
        }
        self.shown(&name).await
    }

    /// The settings after a change, once the person's own acts are on record, and how the loop's
    /// rules change with them.
    async fn settle(
        &self,
        call: &Call,
        name: &str,
        before: &LoopConfig,
        change: LoopChange,
    ) -> Result<(LoopConfig, Vec<RuleChange>), WireError> {
        let grants_given = change.grants.is_some();
        let config = merged(before, change);
        check_config(&config).map_err(wrong)?;
        self.check_model(before, &config)?;
        let errand = monitor(&config);
        if let Some(errand) = &errand {
            errand.check().map_err(wrong)?;
        }
        let grants_change = grants_given && config.grants != before.grants;
        if grants_change {
            grants::check(call, owner(name), &config.grants)?;
        }
        if let Some(errand) = errand.filter(|errand| Some(errand) != monitor(before).as_ref()) {
            let owner = format!("loop:{name}");
            let parts = &self.parts;
            record_set(&parts.store, &parts.mask, &call.caller, &owner, &errand).await?;
        }
        let mut rules = Vec::new();
        if grants_change {
            let planner = self.grants();
            rules = planner.replace(owner(name), &config.grants).await?;
        }
        Ok((config, rules))
    }

    fn grants(&self) -> GrantPlanner<'_> {
        GrantPlanner {
            store: &self.parts.store,
            dice: &self.parts.dice,
            mask: &self.parts.mask,
        }
    }

    /// Refuses a model that nobody knows.
    fn check_model(&self, before: &LoopConfig, config: &LoopConfig) -> Result<(), WireError> {
        if config.model.is_none() || config.model == before.model {
            return Ok(());
        }
        let book = self.parts.library.book();
        match book.resolve_for(config.model.as_deref(), false) {
            Ok(_) | Err(BookError::NothingConfigured) => Ok(()),
            Err(error) => Err(wrong(error.to_string())
                .with_details(serde_json::json!({ "reason": "unknown-model" }))),
        }
    }

    pub(super) async fn get(
        self: Arc<Self>,
        _: Call,
        params: NameParams,
    ) -> Result<Loop, WireError> {
        match self.shown(&params.name).await {
            Err(error) if error.code == ErrorCode::NotFound && params.name == DEFAULT_LOOP => {
                Ok(unmade())
            }
            shown => shown,
        }
    }

    pub(super) async fn list(
        self: Arc<Self>,
        _: Call,
        params: ListParams,
    ) -> Result<Loops, WireError> {
        let mut loops = self.parts.store.list_loops().await?;
        loops.retain(|one| {
            params
                .running
                .is_none_or(|wanted| one.state.running == wanted)
        });
        for one in &mut loops {
            self.overlay(one);
            one.state.monitor = None;
        }
        Ok(Loops { loops })
    }

    pub(super) async fn start(
        self: Arc<Self>,
        _: Call,
        params: NameParams,
    ) -> Result<Loop, WireError> {
        let _pen = self.roll.pen(&params.name).await;
        self.ensure(&params.name).await?;
        self.begin(&params.name, WhichStart::Again).await?;
        self.shown(&params.name).await
    }

    pub(super) async fn once(
        self: Arc<Self>,
        _: Call,
        params: OnceParams,
    ) -> Result<Loop, WireError> {
        let _pen = self.roll.pen(&params.name).await;
        self.ensure(&params.name).await?;
        let which = WhichStart::Once {
            key: params.idempotency_key,
        };
        if let Some(handle) = self.begin(&params.name, which).await? {
            let mut live = handle.live;
            let begun = live.wait_for(|live| live.begun);
            // A store that is slow to begin it still has it on record.
            let _ = tokio::time::timeout(BEGIN_WAIT, begun).await;
        }
        self.shown(&params.name).await
    }

    /// Puts a start on record and gives the loop its owner; none when the key asked before.
    async fn begin(
        self: &Arc<Self>,
        name: &str,
        which: WhichStart,
    ) -> Result<Option<Handle>, WireError> {
        let event = match which {
            WhichStart::Again => Event::Start,
            WhichStart::Once { .. } => Event::Once,
        };
        let started = self.parts.store.start_loop(name, which).await?;
        let Started::Now { iteration } = started else {
            return Ok(None);
        };
        let Some(row) = self.parts.store.loop_row(name).await? else {
            return Err(missing(name));
        };
        let mut machine = Machine::new(Policy::of(&row.config), iteration);
        let mut effects = Vec::new();
        let now_ms = self.parts.clock.monotonic_ms();
        machine.step(event, now_ms, &mut effects);
        let begin = Begin {
            machine,
            effects,
            cost: row.cost,
            monitor: row.monitor,
            config: row.config,
            open: None,
        };
        Ok(Some(owner::begin(self, name, begin)))
    }

    pub(super) async fn stop(
        self: Arc<Self>,
        _: Call,
        params: NameParams,
    ) -> Result<Loop, WireError> {
        let name = params.name;
        // Without the pen: a stop must pass beside whoever waits for a loop to begin.
        if let Some(handle) = self.roll.find(&name) {
            let (done, stopped) = oneshot::channel();
            if handle.commands.send(Command::Stop { done }).await.is_ok() {
                // An owner that is dropped with the daemon answers nobody; the loop goes on then.
                let lost = "The daemon is stopping; the loop goes on when it is back.";
                let lost = |_| WireError::new(ErrorCode::ServiceUnavailable, lost);
                stopped.await.map_err(lost)?;
            } else {
                handle.commands.closed().await;
            }
        } else if self
            .parts
            .store
            .loop_row(&name)
            .await?
            .is_some_and(|row| row.mode != hob_store::Mode::Idle)
        {
            let message = "The loop is just being taken up again. Try again in a moment.";
            let later = WireError::new(ErrorCode::ServiceUnavailable, message);
            return Err(later.retry_after(500));
        }
        let call = self.shown(&name).await;
        match call {
            Err(error) if error.code == ErrorCode::NotFound && name == DEFAULT_LOOP => Ok(unmade()),
            shown => shown,
        }
    }

    pub(super) async fn delete(
        self: Arc<Self>,
        _: Call,
        params: NameParams,
    ) -> Result<Deleted, WireError> {
        let name = params.name;
        let _pen = self.roll.pen(&name).await;
        let store = &self.parts.store;
        let Some(row) = store.loop_row(&name).await? else {
            return Err(missing(&name));
        };
        if row.mode != hob_store::Mode::Idle {
            let message =
                format!("The loop '{name}' runs, so it cannot be deleted. Stop it first.");
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        while store.drop_iterations(&name, 0).await? {}
        // With the loop: nobody who takes its name later has what it was granted.
        let rules = self.grants().replace(owner(&name), &[]).await?;
        store.delete_loop(&name, rules).await?;
        Ok(Deleted { name })
    }

    pub(super) async fn history(
        self: Arc<Self>,
        _: Call,
        params: HistoryParams,
    ) -> Result<Iterations, WireError> {
        let is_default = params.name == DEFAULT_LOOP;
        match self.parts.store.loop_history(params).await {
            Err(StoreError::NotFound(_)) if is_default => Ok(Iterations {
                iterations: Vec::new(),
                more: false,
            }),
            found => Ok(found?),
        }
    }

    pub(super) async fn working(
        self: Arc<Self>,
        call: Call,
        params: WorkingParams,
    ) -> Result<Memory, WireError> {
        self.ensure(&params.name).await?;
        let remember = Remember {
            name: params.name,
            kind: MemoryKind::Working,
            text: Some(params.text),
            by: call.caller,
            if_revision: None,
            key: None,
        };
        Ok(self.parts.store.remember(remember).await?)
    }

    pub(super) async fn persistent(
        self: Arc<Self>,
        call: Call,
        params: PersistentParams,
    ) -> Result<Memories, WireError> {
        let by = writer(&call, &params)?;
        let (name, earlier) = (params.name, params.earlier.unwrap_or(0));
        if params.text.is_some() && params.undo {
            return Err(wrong("Give `text` or `undo`, not both.".to_owned()));
        }
        self.ensure(&name).await?;
        let store = &self.parts.store;
        if params.text.is_some() || params.undo {
            let remember = Remember {
                name: name.clone(),
                kind: MemoryKind::Persistent,
                text: params.text,
                by,
                if_revision: params.if_revision,
                key: params.idempotency_key,
            };
            store.remember(remember).await?;
        }
        Ok(store
            .memories(&name, MemoryKind::Persistent, earlier)
            .await?)
    }

    /// Makes the default loop if it is the one that is named and is not there.
    async fn ensure(&self, name: &str) -> Result<(), WireError> {
        if name != DEFAULT_LOOP || self.parts.store.loop_row(name).await?.is_some() {
            return Ok(());
        }
        let new = NewLoop {
            name: name.to_owned(),
            config: LoopConfig::default(),
            persistent: String::new(),
            working: String::new(),
            by: "hob".to_owned(),
            rules: Vec::new(),
        };
        match self.parts.store.create_loop(new).await {
            // Somebody else was a moment faster.
            Err(StoreError::Conflict(_)) => Ok(()),
            made => Ok(made?),
        }
    }

    /// A loop as it is on record, with what it is doing this moment.
    async fn shown(&self, name: &str) -> Result<Loop, WireError> {
        let mut shown = self.parts.store.get_loop(name).await?;
        self.overlay(&mut shown);
        Ok(shown)
    }

    fn overlay(&self, shown: &mut Loop) {
        let Some(live) = self.roll.live(&shown.name) else {
            return;
        };
        let state = &mut shown.state;
        // The record is ahead of the owner at both ends of a loop's life.
        if !state.running || live.iteration < state.iteration {
            return;
        }
        state.phase = live.phase;
        state.next_at = live.next_at;
        state.run_id = live.run_id.or(state.run_id);
        if live.monitor.is_some() {
            state.monitor = live.monitor;
        }
    }
}

/// Who writes a memory: a person by their token, or an iteration by the house's word.
fn writer(call: &Call, params: &PersistentParams) -> Result<String, WireError> {
    let Some(session) = &params.session_key else {
        return Ok(call.caller.clone());
    };
    if call.surface != HOUSE {
        let message =
            "`sessionKey` is set by the house alone, for a call of that run. Leave it out.";
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    if loop_of(session) != Some(&params.name) {
        let message = format!("'{session}' is no iteration of the loop '{}'.", params.name);
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    Ok(session.clone())
}

/// The default loop before anything was set.
fn unmade() -> Loop {
    Loop {
        name: DEFAULT_LOOP.to_owned(),
        config: LoopConfig::default(),
        state: LoopState::default(),
        persistent: Memory::default(),
        working: Memory::default(),
        created_at: 0,
        updated_at: 0,
    }
}

fn missing(name: &str) -> WireError {
    let message = format!("There is no loop '{name}'; 'hob loop list' shows those there are.");
    WireError::new(ErrorCode::NotFound, message)
}

fn wrong(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}
