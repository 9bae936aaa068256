//! The methods of the room.
//!
//! Invariants: the store changes first, then the table, in the same order; a job and its grants are
//! one write, and its grants are exactly the stored rules; the grants of a job are only used for
//! work that a caller with the scope `admin` set.

use super::CronContext;
use super::hooks::NONCE_BYTES;
use super::terms::{self, JobTiming};
use super::views::{self, SlotTrigger};
use crate::demo_model;
use crate::grants::{self, GrantOwner, GrantPlanner};
use crate::scheduled_command;
use hob_bus::RequestContext;
use hob_core::schedule::{SlotAdmission, admit};
use hob_store::{JobRow, NewSlot, RuleChange, SlotOpening};
use hob_wire::limits::PAGE_ROWS_MAX;
use hob_wire::rooms::cron::{
    CronAddParams, CronChange, CronHistoryParams, CronHistoryResult, CronJob, CronListParams,
    CronListResult, CronRemoveResult, CronRunParams, CronUpdateParams, JobDefinition, JobSelector,
    JobSlot, JobWork, SlotOrigin, SlotState, ToolGrantView,
};
use hob_wire::{ErrorCode, WireError};

/// Random bytes of a job's id.
const ID_BYTES: usize = 8;
/// The room's name in the rules that it stores.
const ROOM: &str = "cron";

/// A change of a job.
#[derive(Debug)]
pub(super) struct JobChange {
    /// The kind of change in the `cron.changed` event.
    pub(super) event: CronChange,
    /// True if the job restarts: its cursor moves to now and its failures are reset.
    pub(super) restarts: bool,
    pub(super) rules: Vec<RuleChange>,
}

/// A slot that was opened outside the schedule.
#[derive(Debug)]
pub(super) struct OpenedSlot {
    pub(super) slot: JobSlot,
    /// True if the same call came before and the slot is the earlier one.
    pub(super) repeated: bool,
}

impl CronContext {
    pub(super) async fn list(&self, params: CronListParams) -> Result<CronListResult, WireError> {
        let limit = params.limit.unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX);
        if limit == 0 {
            return Err(terms::invalid("`limit` is at least 1.".to_owned()));
        }
        let after = params.after.unwrap_or_default();
        // Only ids leave the lock: the guard must not be held across the awaits below.
        let ids: Vec<String> = {
            let table = self.jobs();
            let jobs = table.jobs_after(&after).take(limit as usize);
            jobs.map(|job| job.row.id.clone()).collect()
        };
        let mut last = self.deps.store.last_slots(ids.clone()).await?;
        let mut grants = grants::grants_by_room(&self.deps.store, ROOM).await?;
        let now_ms = self.now_ms();
        let table = self.jobs();
        let view = |id: &String| {
            let mut job = views::job_view(table.find(id)?, last.remove(id), now_ms);
            let granted = grants.remove(&grant_owner(&job.terms).sessions());
            job.terms.grants = granted.unwrap_or_default();
            Some(job)
        };
        // A job that was removed since its id was read is left out.
        let jobs: Vec<CronJob> = ids.iter().filter_map(view).collect();
        let more = match jobs.last() {
            Some(job) => table.jobs_after(&job.terms.name).next().is_some(),
            None => false,
        };
        Ok(CronListResult {
            jobs,
            more,
            damaged: self.deps.store.damaged_rows("jobs"),
        })
    }

    pub(super) async fn add(
        &self,
        call: RequestContext,
        params: CronAddParams,
    ) -> Result<CronJob, WireError> {
        let enabled = params.enabled.unwrap_or(true);
        let now_ms = self.now_ms();
        let mut row = JobRow {
            enabled,
            ..self.new_row(now_ms)
        };
        terms::apply_change(&mut row.terms, CronUpdateParams::from(params), true)?;
        let timing = terms::parse_timing(&row.terms, &self.zone, row.created_at)?;
        terms::check_future(&timing, now_ms)?;
        // Grants are stored as rules and never in the job's row.
        let granted = std::mem::take(&mut row.terms.grants);
        if !granted.is_empty() {
            grants::check_grants(&call, grant_owner(&row.terms), &granted)?;
            self.refuse_for_demo(&row.terms).await?;
        }
        if self.jobs().find(&row.terms.name).is_some() {
            let message = format!("There is already a job '{}'.", row.terms.name);
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        self.record_command(&call, &row.terms).await?;
        let changes = self
            .grant_planner()
            .replace(grant_owner(&row.terms), &granted)
            .await?;
        self.deps.store.add_job(row.clone(), changes).await?;
        let id = row.id.clone();
        self.jobs().upsert(row, timing, now_ms);
        self.wakeup.notify_one();
        self.job_view(&id).await
    }

    /// Refuses grants for a task that the demo model would do.
    async fn refuse_for_demo(&self, terms: &JobDefinition) -> Result<(), WireError> {
        match &terms.work {
            JobWork::Agent(task) => {
                demo_model::refuse_grants(&self.caller, task.model.as_deref()).await
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn update(
        &self,
        call: RequestContext,
        params: CronUpdateParams,
    ) -> Result<CronJob, WireError> {
        let _guard = self.write_lock.lock().await;
        let (mut row, _) = self.job_row(&params.id)?;
        refuse_heartbeat(&row)?;
        let before = row.terms.clone();
        let (enabled, is_granted_anew) = (params.enabled, params.grants.is_some());
        terms::apply_change(&mut row.terms, params, false)?;
        let granted = std::mem::take(&mut row.terms.grants);
        let now_ms = self.now_ms();
        let timing = terms::parse_timing(&row.terms, &self.zone, row.created_at)?;
        let is_rescheduled = (&before.schedule, &before.zone, &before.active_hours)
            != (
                &row.terms.schedule,
                &row.terms.zone,
                &row.terms.active_hours,
            );
        if is_rescheduled {
            terms::check_future(&timing, now_ms)?;
        }
        let held = grants::grants_of(&self.deps.store, grant_owner(&before)).await?;
        let is_granted = !(held.is_empty() && granted.is_empty());
        // New work under old grants is a new use of them, so it needs the same scope as granting.
        let uses_grants =
            is_granted && (before.work != row.terms.work || before.name != row.terms.name);
        if is_granted_anew || uses_grants {
            grants::check_grants(&call, grant_owner(&row.terms), &granted)?;
        }
        if is_granted_anew && !granted.is_empty() {
            self.refuse_for_demo(&row.terms).await?;
        }
        if before.work != row.terms.work {
            self.record_command(&call, &row.terms).await?;
        }
        let is_enabled_anew = enabled == Some(true) && !row.enabled;
        row.enabled = enabled.unwrap_or(row.enabled);
        row.updated_at = now_ms;
        // A new schedule counts from now: times missed under the old one are not made up.
        let anew = is_rescheduled || is_enabled_anew;
        let granted = is_granted_anew.then_some(granted.as_slice());
        let changes = self.rule_changes(&before, &row.terms, granted).await?;
        let id = row.id.clone();
        let change = JobChange {
            event: CronChange::Updated,
            restarts: anew,
            rules: changes,
        };
        self.save_job(row, timing, change).await?;
        self.job_view(&id).await
    }

    pub(super) async fn remove(&self, params: JobSelector) -> Result<CronRemoveResult, WireError> {
        let _guard = self.write_lock.lock().await;
        let (row, _) = match self.job_row(&params.id) {
            Ok(found) => found,
            Err(missing) => {
                return self
                    .remove_damaged(&params.id)
                    .await
                    .unwrap_or(Err(missing));
            }
        };
        refuse_heartbeat(&row)?;
        // Removed with the job: a later job of this name must not inherit its grants.
        let rules = self
            .grant_planner()
            .replace(grant_owner(&row.terms), &[])
            .await?;
        self.deps.store.remove_job(&row.id, rules).await?;
        self.jobs().remove(&row.id);
        Ok(CronRemoveResult {
            id: row.id,
            name: row.terms.name,
        })
    }

    /// Removes a damaged job by its name; none when there is no such job. The caller holds the lock.
    async fn remove_damaged(&self, name: &str) -> Option<Result<CronRemoveResult, WireError>> {
        let damaged = self.deps.store.damaged_rows("jobs");
        damaged.iter().find(|row| row.id.as_deref() == Some(name))?;
        let removed = async {
            let mut rules = Vec::new();
            for kind in terms::SESSION_KINDS {
                // Its kind cannot be read any more, so the grants of both kinds go.
                let owner = GrantOwner {
                    room: "cron",
                    kind,
                    name,
                };
                rules.extend(self.grant_planner().replace(owner, &[]).await?);
            }
            self.deps.store.remove_job(name, rules).await?;
            Ok(CronRemoveResult {
                id: name.to_owned(),
                name: name.to_owned(),
            })
        };
        Some(removed.await)
    }

    pub(super) async fn enable(&self, params: JobSelector) -> Result<CronJob, WireError> {
        self.set_enabled(&params.id, true).await
    }

    pub(super) async fn disable(&self, params: JobSelector) -> Result<CronJob, WireError> {
        self.set_enabled(&params.id, false).await
    }

    async fn set_enabled(&self, id: &str, enabled: bool) -> Result<CronJob, WireError> {
        let _guard = self.write_lock.lock().await;
        let (mut row, timing) = self.job_row(id)?;
        if row.enabled != enabled {
            if !enabled {
                refuse_heartbeat(&row)?;
            }
            let change = if enabled {
                CronChange::Enabled
            } else {
                CronChange::Disabled
            };
            row.enabled = enabled;
            row.updated_at = self.now_ms();
            let id = row.id.clone();
            let change = JobChange {
                event: change,
                // Times that passed while the job was disabled are not made up.
                restarts: enabled,
                rules: Vec::new(),
            };
            self.save_job(row, timing, change).await?;
            let mut waiting = Vec::new();
            // A disabled job must not start what was waiting.
            if !enabled && let Some(job) = self.jobs().get_mut(&id) {
                waiting = job.clear_waiting();
            }
            self.skip_waiting(waiting, "the job was disabled");
        }
        self.job_view(id).await
    }

    pub(super) async fn run(&self, params: CronRunParams) -> Result<JobSlot, WireError> {
        let (row, _) = self.job_row(&params.id)?;
        let due = SlotTrigger {
            at_ms: self.now_ms(),
            origin: SlotOrigin::Manual,
            dedup_key: params
                .idempotency_key
                .unwrap_or_else(|| self.deps.randomness.hex(NONCE_BYTES)),
        };
        if due.dedup_key.is_empty() || due.dedup_key.len() > 200 {
            return Err(terms::invalid(
                "`idempotencyKey` is 1 to 200 bytes.".to_owned(),
            ));
        }
        Ok(self.open_slot(&row.id, due, None, None).await?.slot)
    }

    pub(super) async fn history(
        &self,
        params: CronHistoryParams,
    ) -> Result<CronHistoryResult, WireError> {
        let job = params
            .id
            .as_deref()
            .map(|id| self.job_row(id))
            .transpose()?;
        let job = job.map(|(row, _)| row.id);
        Ok(self.deps.store.slot_history(job, params).await?)
    }

    /// Opens a slot outside the schedule. The returned slot says whether it waits or was skipped.
    pub(super) async fn open_slot(
        &self,
        id: &str,
        due: SlotTrigger,
        own_task: Option<String>,
        same_within_ms: Option<u64>,
    ) -> Result<OpenedSlot, WireError> {
        let _guard = self.write_lock.lock().await;
        let is_call = due.origin == SlotOrigin::Webhook;
        let (admission, new) = {
            let table = self.jobs();
            let job = table.find(id).ok_or_else(|| no_such_job(id))?;
            let admission = admit(&job.timing.policy, &job.standing(), is_call);
            let new = views::new_slot(&job.row.terms, &due, own_task);
            (
                admission,
                NewSlot {
                    same_within_ms,
                    ..new
                },
            )
        };
        let new = match admission {
            SlotAdmission::Wait | SlotAdmission::Replace => new,
            SlotAdmission::Skip(why) => NewSlot {
                state: SlotState::Skipped,
                reason: Some(why.to_owned()),
                ..new
            },
        };
        let opening = SlotOpening {
            job: id.to_owned(),
            cursor_ms: None,
            slots: vec![new],
        };
        let opened = self.deps.store.open_slots(vec![opening]).await?;
        let opened = opened.into_iter().next().ok_or_else(|| no_such_job(id))?;
        let slot = opened.row.slot.clone();
        let repeated = opened.duplicate;
        if repeated || slot.state != SlotState::Due {
            return Ok(OpenedSlot { slot, repeated });
        }
        let mut replaced = Vec::new();
        {
            let mut table = self.jobs();
            if let Some(job) = table.get_mut(id) {
                if admission == SlotAdmission::Replace {
                    job.stop_current();
                    replaced = job.clear_waiting();
                }
                job.push_waiting(opened.row, self.deps.clock.monotonic_ms());
            }
            table.reschedule(id, self.now_ms());
        }
        self.skip_replaced(replaced);
        self.wakeup.notify_one();
        Ok(OpenedSlot { slot, repeated })
    }

    /// Returns a job's row and timing by its id or name.
    pub(super) fn job_row(&self, id: &str) -> Result<(JobRow, JobTiming), WireError> {
        let table = self.jobs();
        let job = table.find(id).ok_or_else(|| no_such_job(id))?;
        Ok((job.row.clone(), job.timing.clone()))
    }

    /// Stores a changed job and updates the table. The caller holds the write lock.
    pub(super) async fn save_job(
        &self,
        mut row: JobRow,
        timing: JobTiming,
        change: JobChange,
    ) -> Result<(), WireError> {
        let now_ms = self.now_ms();
        let anew = change.restarts;
        if anew {
            row.cursor_ms = timing.calendar.cursor_at(now_ms);
            row.failures = 0;
            row.problem = None;
        }
        self.deps
            .store
            .update_job(row.clone(), change.rules, change.event, anew)
            .await?;
        let mut table = self.jobs();
        if !anew && let Some(job) = table.find(&row.id) {
            // Slots may have finished meanwhile; their counts in the table are newer than `row`.
            row.failures = job.row.failures;
            row.cursor_ms = job.row.cursor_ms;
        }
        table.upsert(row, timing, now_ms);
        drop(table);
        self.wakeup.notify_one();
        Ok(())
    }

    /// Builds the row of a new job.
    pub(super) fn new_row(&self, now_ms: u64) -> JobRow {
        JobRow {
            id: format!("cron-{}", self.deps.randomness.hex(ID_BYTES)),
            terms: terms::blank(),
            enabled: true,
            cursor_ms: now_ms,
            failures: 0,
            problem: None,
            nonce: self.deps.randomness.hex(NONCE_BYTES),
            created_at: now_ms,
            updated_at: now_ms,
        }
    }

    /// Returns a job as callers see it.
    async fn job_view(&self, id: &str) -> Result<CronJob, WireError> {
        let (row, _) = self.job_row(id)?;
        let mut last = self.deps.store.last_slots(vec![row.id.clone()]).await?;
        let granted = grants::grants_of(&self.deps.store, grant_owner(&row.terms)).await?;
        let table = self.jobs();
        let job = table.find(&row.id).ok_or_else(|| no_such_job(id))?;
        let mut job = views::job_view(job, last.remove(&row.id), self.now_ms());
        job.terms.grants = granted;
        Ok(job)
    }

    /// Audits that the user set a command, before it is stored.
    async fn record_command(
        &self,
        call: &RequestContext,
        terms: &JobDefinition,
    ) -> Result<(), WireError> {
        let Some(command) = terms::scheduled_command(&terms.work) else {
            return Ok(());
        };
        let (store, mask) = (&self.deps.store, &self.deps.mask);
        let owner = format!("cron:{}", terms.name);
        scheduled_command::record_command(store, mask, &call.caller, &owner, &command).await
    }

    /// Returns the changes to a job's rules: replaced if the request names grants, moved if only the
    /// names of its sessions change, else none.
    async fn rule_changes(
        &self,
        before: &JobDefinition,
        now: &JobDefinition,
        granted: Option<&[ToolGrantView]>,
    ) -> Result<Vec<RuleChange>, WireError> {
        let planner = self.grant_planner();
        let (from, to) = (grant_owner(before), grant_owner(now));
        let is_same = from.sessions() == to.sessions();
        match granted {
            None if is_same => Ok(Vec::new()),
            None => planner.transfer(from, to).await,
            Some(granted) => {
                let mut changes = planner.replace(to, granted).await?;
                if !is_same {
                    changes.extend(planner.replace(from, &[]).await?);
                }
                Ok(changes)
            }
        }
    }

    pub(super) fn grant_planner(&self) -> GrantPlanner<'_> {
        GrantPlanner {
            store: &self.deps.store,
            randomness: &self.deps.randomness,
            mask: &self.deps.mask,
        }
    }
}

pub(super) fn grant_owner(terms: &JobDefinition) -> GrantOwner<'_> {
    GrantOwner {
        room: ROOM,
        kind: terms::session_kind(terms),
        name: &terms.name,
    }
}

fn no_such_job(id: &str) -> WireError {
    WireError::new(ErrorCode::NotFound, format!("There is no job '{id}'."))
}

fn refuse_heartbeat(row: &JobRow) -> Result<(), WireError> {
    if matches!(row.terms.work, JobWork::Heartbeat(_)) {
        let message = "The settings define the heartbeat: change `heartbeat.*` instead.";
        return Err(WireError::new(ErrorCode::Conflict, message));
    }
    Ok(())
}
