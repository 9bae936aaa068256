//! The methods of the room.

use super::LoopContext;
use super::formatting::{grant_owner, loop_of_session, monitor_command};
use super::owner::{self, LoopCommand, LoopHandle, LoopInit};
use crate::demo_model;
use crate::grants::{self, GrantPlanner};
use crate::scheduled_command::record_command;
use hob_bus::RequestContext;
use hob_core::loop_machine::{
    LoopEvent, LoopMachine, LoopPolicy, check_config, check_name, merge_config,
};
use hob_models::ResolveError;
use hob_store::{
    LoopStart, LoopStartResult, MemoryKind, MemoryUpdate, NewLoopRow, RuleChange, StoreError,
};
use hob_wire::rooms::loops::{
    DEFAULT_LOOP, Loop, LoopChange, LoopConfig, LoopCreateParams, LoopDeleteResult,
    LoopHistoryParams, LoopHistoryResult, LoopListParams, LoopListResult, LoopMemory,
    LoopOnceParams, LoopPersistentParams, LoopPersistentResult, LoopSelector, LoopState,
    LoopUpdateParams, LoopWorkingParams,
};
use hob_wire::{ErrorCode, WireError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Time for a single iteration to begin before its caller is answered anyway.
const BEGIN_WAIT: Duration = Duration::from_secs(10);
/// The surface of callers inside the daemon.
const INTERNAL_SURFACE: &str = "house";

impl LoopContext {
    pub(super) async fn create(
        &self,
        call: RequestContext,
        params: LoopCreateParams,
    ) -> Result<Loop, WireError> {
        let name = params.name;
        check_name(&name).map_err(invalid)?;
        let _lock = self.registry.lock_for_change(&name).await;
        if self.deps.store.loop_row(&name).await?.is_some() {
            let message =
                format!("There is already a loop '{name}'; change it, or choose another name.");
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        let none = LoopConfig::default();
        let (config, rules) = self
            .prepare_config(&call, &name, &none, params.config)
            .await?;
        let new = NewLoopRow {
            name: name.clone(),
            config,
            persistent: params.persistent.unwrap_or_default(),
            working: params.working.unwrap_or_default(),
            by: call.caller,
            rules,
        };
        self.deps.store.create_loop(new).await?;
        self.loop_view(&name).await
    }

    pub(super) async fn update(
        &self,
        call: RequestContext,
        params: LoopUpdateParams,
    ) -> Result<Loop, WireError> {
        let name = params.name;
        let _lock = self.registry.lock_for_change(&name).await;
        self.ensure_default(&name).await?;
        let Some(row) = self.deps.store.loop_row(&name).await? else {
            return Err(no_such_loop(&name));
        };
        let (config, rules) = self
            .prepare_config(&call, &name, &row.config, params.config)
            .await?;
        let store = &self.deps.store;
        store.update_loop(&name, config.clone(), rules).await?;
        if let Some(handle) = self.registry.find(&name) {
            // An owner that has just ended needs no settings; the next one loads them.
            let changed = LoopCommand::Changed(Box::new(config));
            let _ = handle.commands.send(changed).await;
        }
        self.loop_view(&name).await
    }

    /// Checks a change, audits what the user sets, and returns the new settings with the changes to
    /// the loop's rules.
    async fn prepare_config(
        &self,
        call: &RequestContext,
        name: &str,
        before: &LoopConfig,
        change: LoopChange,
    ) -> Result<(LoopConfig, Vec<RuleChange>), WireError> {
        let grants_given = change.grants.is_some();
        let config = merge_config(before, change);
        check_config(&config).map_err(invalid)?;
        self.check_model(before, &config)?;
        let command = monitor_command(&config);
        if let Some(command) = &command {
            command.check().map_err(invalid)?;
        }
        // Naming the same grants again changes nothing, so it needs no further scope.
        let grants_change = grants_given && config.grants != before.grants;
        if grants_change {
            grants::check_grants(call, grant_owner(name), &config.grants)?;
            if !config.grants.is_empty() {
                demo_model::refuse_grants(&self.caller, config.model.as_deref()).await?;
            }
        }
        if let Some(command) =
            command.filter(|command| Some(command) != monitor_command(before).as_ref())
        {
            let owner = format!("loop:{name}");
            let deps = &self.deps;
            record_command(&deps.store, &deps.mask, &call.caller, &owner, &command).await?;
        }
        let mut rules = Vec::new();
        if grants_change {
            let planner = self.grant_planner();
            rules = planner.replace(grant_owner(name), &config.grants).await?;
        }
        Ok((config, rules))
    }

    fn grant_planner(&self) -> GrantPlanner<'_> {
        GrantPlanner {
            store: &self.deps.store,
            randomness: &self.deps.randomness,
            mask: &self.deps.mask,
        }
    }

    /// Refuses an unknown model.
    fn check_model(&self, before: &LoopConfig, config: &LoopConfig) -> Result<(), WireError> {
        // Only a changed model is checked, so that an unknown one does not block other changes.
        if config.model.is_none() || config.model == before.model {
            return Ok(());
        }
        let book = self.library.models(&self.deps);
        match book.resolve_for(config.model.as_deref(), false) {
            // Without any provider there is nothing to check a name against yet.
            Ok(_) | Err(ResolveError::NothingConfigured) => Ok(()),
            Err(error) => Err(invalid(error.to_string())
                .with_details(serde_json::json!({ "reason": "unknown-model" }))),
        }
    }

    pub(super) async fn get(&self, params: LoopSelector) -> Result<Loop, WireError> {
        match self.loop_view(&params.name).await {
            Err(error) if error.code == ErrorCode::NotFound && params.name == DEFAULT_LOOP => {
                Ok(default_view())
            }
            shown => shown,
        }
    }

    pub(super) async fn list(&self, params: LoopListParams) -> Result<LoopListResult, WireError> {
        let mut loops = self.deps.store.list_loops().await?;
        loops.retain(|one| {
            params
                .running
                .is_none_or(|wanted| one.state.running == wanted)
        });
        for one in &mut loops {
            self.overlay_live(one);
            // The output of a monitor may be long, and `get` shows it.
            one.state.monitor = None;
        }
        Ok(LoopListResult { loops })
    }

    pub(super) async fn start(self: &Arc<Self>, params: LoopSelector) -> Result<Loop, WireError> {
        let _lock = self.registry.lock_for_change(&params.name).await;
        self.ensure_default(&params.name).await?;
        self.start_owner(&params.name, LoopStart::Continuous)
            .await?;
        self.loop_view(&params.name).await
    }

    pub(super) async fn once(self: &Arc<Self>, params: LoopOnceParams) -> Result<Loop, WireError> {
        let _lock = self.registry.lock_for_change(&params.name).await;
        self.ensure_default(&params.name).await?;
        let which = LoopStart::Once {
            key: params.idempotency_key,
        };
        if let Some(handle) = self.start_owner(&params.name, which).await? {
            let mut live = handle.live;
            let begun = live.wait_for(|live| live.has_begun);
            // After a timeout the start is stored all the same.
            let _ = tokio::time::timeout(BEGIN_WAIT, begun).await;
        }
        self.loop_view(&params.name).await
    }

    /// Stores a start and spawns the loop's owner; none when the same key started it before.
    async fn start_owner(
        self: &Arc<Self>,
        name: &str,
        which: LoopStart,
    ) -> Result<Option<LoopHandle>, WireError> {
        let event = match which {
            LoopStart::Continuous => LoopEvent::Start,
            LoopStart::Once { .. } => LoopEvent::StartOnce,
        };
        let started = self.deps.store.start_loop(name, which).await?;
        let LoopStartResult::Now { iteration } = started else {
            return Ok(None);
        };
        let Some(row) = self.deps.store.loop_row(name).await? else {
            return Err(no_such_loop(name));
        };
        let mut machine = LoopMachine::new(LoopPolicy::from_config(&row.config), iteration);
        let mut effects = Vec::new();
        let now_ms = self.deps.clock.monotonic_ms();
        machine.step(event, now_ms, &mut effects);
        let init = LoopInit {
            machine,
            effects,
            cost: row.cost,
            monitor: row.monitor,
            config: row.config,
            open_iteration: None,
        };
        Ok(Some(owner::spawn_owner(self, name, init)))
    }

    pub(super) async fn stop(&self, params: LoopSelector) -> Result<Loop, WireError> {
        let name = params.name;
        // Without the lock: `once` holds it while it waits for the loop to begin, and a stop must not
        // wait for that.
        if let Some(handle) = self.registry.find(&name) {
            let (done, stopped) = oneshot::channel();
            if handle
                .commands
                .send(LoopCommand::Stop { done })
                .await
                .is_ok()
            {
                // The owner was dropped because the daemon stops. The next daemon resumes the loop.
                let lost = "The daemon is stopping; the loop continues when it is back.";
                let lost = |_| WireError::new(ErrorCode::ServiceUnavailable, lost);
                stopped.await.map_err(lost)?;
            } else {
                // The owner closes its inbox only after the loop's end is stored.
                handle.commands.closed().await;
            }
        } else if self
            .deps
            .store
            .loop_row(&name)
            .await?
            .is_some_and(|row| row.mode != hob_store::LoopMode::Idle)
        {
            let message = "The loop is just being resumed. Try again in a moment.";
            let later = WireError::new(ErrorCode::ServiceUnavailable, message);
            return Err(later.retry_after(500));
        }
        let call = self.loop_view(&name).await;
        match call {
            Err(error) if error.code == ErrorCode::NotFound && name == DEFAULT_LOOP => {
                Ok(default_view())
            }
            shown => shown,
        }
    }

    pub(super) async fn delete(&self, params: LoopSelector) -> Result<LoopDeleteResult, WireError> {
        let name = params.name;
        let _lock = self.registry.lock_for_change(&name).await;
        let store = &self.deps.store;
        let Some(row) = store.loop_row(&name).await? else {
            return Err(no_such_loop(&name));
        };
        if row.mode != hob_store::LoopMode::Idle {
            let message =
                format!("The loop '{name}' runs, so it cannot be deleted. Stop it first.");
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        // In batches, so that a long history does not block the store's writer.
        while store.delete_iterations(&name, 0).await? {}
        // Removed with the loop: a later loop of this name must not inherit its grants.
        let rules = self
            .grant_planner()
            .replace(grant_owner(&name), &[])
            .await?;
        store.delete_loop(&name, rules).await?;
        Ok(LoopDeleteResult { name })
    }

    pub(super) async fn history(
        &self,
        params: LoopHistoryParams,
    ) -> Result<LoopHistoryResult, WireError> {
        let is_default = params.name == DEFAULT_LOOP;
        match self.deps.store.loop_history(params).await {
            Err(StoreError::NotFound(_)) if is_default => Ok(LoopHistoryResult {
                iterations: Vec::new(),
                more: false,
            }),
            found => Ok(found?),
        }
    }

    pub(super) async fn working(
        &self,
        call: RequestContext,
        params: LoopWorkingParams,
    ) -> Result<LoopMemory, WireError> {
        self.ensure_default(&params.name).await?;
        let remember = MemoryUpdate {
            name: params.name,
            kind: MemoryKind::Working,
            text: Some(params.text),
            by: call.caller,
            if_revision: None,
            key: None,
        };
        Ok(self.deps.store.update_memory(remember).await?)
    }

    pub(super) async fn persistent(
        &self,
        call: RequestContext,
        params: LoopPersistentParams,
    ) -> Result<LoopPersistentResult, WireError> {
        let by = memory_author(&call, &params)?;
        let (name, earlier) = (params.name, params.earlier.unwrap_or(0));
        if params.text.is_some() && params.undo {
            return Err(invalid("Give `text` or `undo`, not both.".to_owned()));
        }
        self.ensure_default(&name).await?;
        let store = &self.deps.store;
        if params.text.is_some() || params.undo {
            let remember = MemoryUpdate {
                name: name.clone(),
                kind: MemoryKind::Persistent,
                text: params.text,
                by,
                if_revision: params.if_revision,
                key: params.idempotency_key,
            };
            store.update_memory(remember).await?;
        }
        Ok(store
            .memories(&name, MemoryKind::Persistent, earlier)
            .await?)
    }

    /// Creates the default loop if `name` means it and it is missing.
    async fn ensure_default(&self, name: &str) -> Result<(), WireError> {
        if name != DEFAULT_LOOP || self.deps.store.loop_row(name).await?.is_some() {
            return Ok(());
        }
        let new = NewLoopRow {
            name: name.to_owned(),
            config: LoopConfig::default(),
            persistent: String::new(),
            working: String::new(),
            by: "hob".to_owned(),
            rules: Vec::new(),
        };
        match self.deps.store.create_loop(new).await {
            // Another request created it first.
            Err(StoreError::Conflict(_)) => Ok(()),
            made => Ok(made?),
        }
    }

    /// Returns a stored loop with its live state.
    async fn loop_view(&self, name: &str) -> Result<Loop, WireError> {
        let mut shown = self.deps.store.get_loop(name).await?;
        self.overlay_live(&mut shown);
        Ok(shown)
    }

    fn overlay_live(&self, shown: &mut Loop) {
        let Some(live) = self.registry.live(&shown.name) else {
            return;
        };
        let state = &mut shown.state;
        // The store is ahead of the owner when a loop starts and when it ends.
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

/// Returns the author of a memory: the caller, or the iteration for which the daemon calls.
fn memory_author(
    call: &RequestContext,
    params: &LoopPersistentParams,
) -> Result<String, WireError> {
    let Some(session) = &params.session_key else {
        return Ok(call.caller.clone());
    };
    if call.surface != INTERNAL_SURFACE {
        let message = "Only hob itself sets `sessionKey`, for a call of that run. Leave it out.";
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    if loop_of_session(session) != Some(&params.name) {
        let message = format!(
            "'{session}' is not an iteration of the loop '{}'.",
            params.name
        );
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    Ok(session.clone())
}

/// Returns the view of a default loop that does not exist yet.
fn default_view() -> Loop {
    Loop {
        name: DEFAULT_LOOP.to_owned(),
        config: LoopConfig::default(),
        state: LoopState::default(),
        persistent: LoopMemory::default(),
        working: LoopMemory::default(),
        created_at: 0,
        updated_at: 0,
    }
}

fn no_such_loop(name: &str) -> WireError {
    let message = format!("There is no loop '{name}'; 'hob loop list' shows all loops.");
    WireError::new(ErrorCode::NotFound, message)
}

fn invalid(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}
