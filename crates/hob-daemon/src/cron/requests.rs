//! What callers ask of the room.
//!
//! Invariants: the store is changed first and the book after it, in the same order; a job and its
//! grants are one write, and the stored rules alone say what its grants are; what was granted to a
//! job is only used for work that somebody with the scope `admin` set.

use super::Shared;
use super::hooks::NONCE_BYTES;
use super::terms::{self, Ruled};
use super::views::{self, Due};
use crate::errand;
use crate::grants::{self, GrantPlanner, Owner};
use hob_bus::Call;
use hob_core::schedule::{Admission, admit};
use hob_store::{JobRow, NewSlot, Opening, RuleChange};
use hob_wire::limits::PAGE_ROWS_MAX;
use hob_wire::rooms::cron::{
    AddJobParams, CronChange, FireParams, GrantView, HistoryParams, Job, JobParams, JobTerms, Jobs,
    ListParams, Removed, Slot, SlotOrigin, SlotState, Slots, UpdateJobParams, Work,
};
use hob_wire::{ErrorCode, WireError};

/// Random bytes of a job's id.
const ID_BYTES: usize = 8;
/// The room as its rules name their maker.
const ROOM: &str = "cron";

/// A change of a job as it is written and told.
#[derive(Debug)]
pub(super) struct JobChange {
    pub(super) told: CronChange,
    /// It begins anew: its cursor is now, and its failures are forgotten.
    pub(super) anew: bool,
    pub(super) rules: Vec<RuleChange>,
}

/// A slot that was opened out of turn.
#[derive(Debug)]
pub(super) struct Fired {
    pub(super) slot: Slot,
    /// It was there before: the same call came again.
    pub(super) repeated: bool,
}

impl Shared {
    pub(super) async fn list(&self, _: &Call, params: ListParams) -> Result<Jobs, WireError> {
        let limit = params.limit.unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX);
        if limit == 0 {
            return Err(terms::wrong("`limit` is at least 1.".to_owned()));
        }
        let after = params.after.unwrap_or_default();
        let ids: Vec<String> = {
            let book = self.book();
            let jobs = book.after(&after).take(limit as usize);
            jobs.map(|job| job.row.id.clone()).collect()
        };
        let mut last = self.parts.store.last_slots(ids.clone()).await?;
        let mut grants = grants::granted_by_room(&self.parts.store, ROOM).await?;
        let now_ms = self.now_ms();
        let book = self.book();
        let view = |id: &String| {
            let mut job = views::job(book.find(id)?, last.remove(id), now_ms);
            let granted = grants.remove(&owner(&job.terms).sessions());
            job.terms.grants = granted.unwrap_or_default();
            Some(job)
        };
        let jobs: Vec<Job> = ids.iter().filter_map(view).collect();
        let more = match jobs.last() {
            Some(job) => book.after(&job.terms.name).next().is_some(),
            None => false,
        };
        Ok(Jobs {
            jobs,
            more,
            damaged: self.parts.store.damaged_rows("jobs"),
        })
    }

    pub(super) async fn add(&self, call: &Call, params: AddJobParams) -> Result<Job, WireError> {
        let enabled = params.enabled.unwrap_or(true);
        let now_ms = self.now_ms();
        let mut row = JobRow {
            enabled,
            ..self.new_row(now_ms)
        };
        terms::change(&mut row.terms, UpdateJobParams::from(params), true)?;
        let ruled = terms::read(&row.terms, &self.zone, row.created_at)?;
        terms::check_ahead(&ruled, now_ms)?;
        let granted = std::mem::take(&mut row.terms.grants);
        if !granted.is_empty() {
            grants::check(call, owner(&row.terms), &granted)?;
        }
        if self.book().find(&row.terms.name).is_some() {
            let message = format!("There is a job '{}' already.", row.terms.name);
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        self.record_command(call, &row.terms).await?;
        let changes = self.grants().replace(owner(&row.terms), &granted).await?;
        self.parts.store.add_job(row.clone(), changes).await?;
        let id = row.id.clone();
        self.book().put(row, ruled, now_ms);
        self.poke.notify_one();
        self.view(&id).await
    }

    pub(super) async fn update(
        &self,
        call: &Call,
        params: UpdateJobParams,
    ) -> Result<Job, WireError> {
        let _turn = self.pen.lock().await;
        let (mut row, _) = self.row(&params.id)?;
        refuse_heartbeat(&row)?;
        let before = row.terms.clone();
        let (enabled, is_granted_anew) = (params.enabled, params.grants.is_some());
        terms::change(&mut row.terms, params, false)?;
        let granted = std::mem::take(&mut row.terms.grants);
        let now_ms = self.now_ms();
        let ruled = terms::read(&row.terms, &self.zone, row.created_at)?;
        let is_rescheduled = (&before.schedule, &before.zone, &before.active_hours)
            != (
                &row.terms.schedule,
                &row.terms.zone,
                &row.terms.active_hours,
            );
        if is_rescheduled {
            terms::check_ahead(&ruled, now_ms)?;
        }
        let held = grants::granted(&self.parts.store, owner(&before)).await?;
        let is_granted = !(held.is_empty() && granted.is_empty());
        let uses_grants =
            is_granted && (before.work != row.terms.work || before.name != row.terms.name);
        if is_granted_anew || uses_grants {
            grants::check(call, owner(&row.terms), &granted)?;
        }
        if before.work != row.terms.work {
            self.record_command(call, &row.terms).await?;
        }
        let is_enabled_anew = enabled == Some(true) && !row.enabled;
        row.enabled = enabled.unwrap_or(row.enabled);
        row.updated_at = now_ms;
        let anew = is_rescheduled || is_enabled_anew;
        let granted = is_granted_anew.then_some(granted.as_slice());
        let changes = self.rule_changes(&before, &row.terms, granted).await?;
        let id = row.id.clone();
        let change = JobChange {
            told: CronChange::Updated,
            anew,
            rules: changes,
        };
        self.keep(row, ruled, change).await?;
        self.view(&id).await
    }

    pub(super) async fn remove(&self, _: &Call, params: JobParams) -> Result<Removed, WireError> {
        let _turn = self.pen.lock().await;
        let (row, _) = match self.row(&params.id) {
            Ok(found) => found,
            Err(missing) => {
                return self
                    .remove_damaged(&params.id)
                    .await
                    .unwrap_or(Err(missing));
            }
        };
        refuse_heartbeat(&row)?;
        // With the job: nobody who takes its name later has what it was granted.
        let rules = self.grants().replace(owner(&row.terms), &[]).await?;
        self.parts.store.remove_job(&row.id, rules).await?;
        self.book().remove(&row.id);
        Ok(Removed {
            id: row.id,
            name: row.terms.name,
        })
    }

    /// Removes a damaged job by its name; none when there is no such one. The caller holds the pen.
    async fn remove_damaged(&self, name: &str) -> Option<Result<Removed, WireError>> {
        let damaged = self.parts.store.damaged_rows("jobs");
        damaged.iter().find(|row| row.id.as_deref() == Some(name))?;
        let removed = async {
            let mut rules = Vec::new();
            for kind in terms::KINDS {
                // What it was granted went by its name and a kind that cannot be read any more.
                let owner = Owner {
                    room: "cron",
                    kind,
                    name,
                };
                rules.extend(self.grants().replace(owner, &[]).await?);
            }
            self.parts.store.remove_job(name, rules).await?;
            Ok(Removed {
                id: name.to_owned(),
                name: name.to_owned(),
            })
        };
        Some(removed.await)
    }

    pub(super) async fn enable(&self, _: &Call, params: JobParams) -> Result<Job, WireError> {
        self.switch(&params.id, true).await
    }

    pub(super) async fn disable(&self, _: &Call, params: JobParams) -> Result<Job, WireError> {
        self.switch(&params.id, false).await
    }

    async fn switch(&self, id: &str, enabled: bool) -> Result<Job, WireError> {
        let _turn = self.pen.lock().await;
        let (mut row, ruled) = self.row(id)?;
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
                told: change,
                anew: enabled,
                rules: Vec::new(),
            };
            self.keep(row, ruled, change).await?;
            let mut waiting = Vec::new();
            if !enabled && let Some(job) = self.book().get_mut(&id) {
                waiting = job.clear_waiting();
            }
            self.end_waiting(waiting, "the job was disabled");
        }
        self.view(id).await
    }

    pub(super) async fn run(&self, _: &Call, params: FireParams) -> Result<Slot, WireError> {
        let (row, _) = self.row(&params.id)?;
        let due = Due {
            at_ms: self.now_ms(),
            origin: SlotOrigin::Manual,
            mark: params
                .idempotency_key
                .unwrap_or_else(|| self.parts.dice.hex(NONCE_BYTES)),
        };
        if due.mark.is_empty() || due.mark.len() > 200 {
            return Err(terms::wrong(
                "`idempotencyKey` is 1 to 200 bytes.".to_owned(),
            ));
        }
        Ok(self.fire(&row.id, due, None, None).await?.slot)
    }

    pub(super) async fn history(
        &self,
        _: &Call,
        params: HistoryParams,
    ) -> Result<Slots, WireError> {
        let job = params.id.as_deref().map(|id| self.row(id)).transpose()?;
        let job = job.map(|(row, _)| row.id);
        Ok(self.parts.store.slot_history(job, params).await?)
    }

    /// Opens a slot that does not come from the schedule. It is told in the answer what becomes
    /// of it.
    pub(super) async fn fire(
        &self,
        id: &str,
        due: Due,
        own_task: Option<String>,
        same_within_ms: Option<u64>,
    ) -> Result<Fired, WireError> {
        let _turn = self.pen.lock().await;
        let is_call = due.origin == SlotOrigin::Webhook;
        let (admission, new) = {
            let book = self.book();
            let job = book.find(id).ok_or_else(|| missing(id))?;
            let admission = admit(&job.ruled.policy, &job.standing(), is_call);
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
            Admission::Wait | Admission::Replace => new,
            Admission::Skip(why) => NewSlot {
                state: SlotState::Skipped,
                reason: Some(why.to_owned()),
                ..new
            },
        };
        let opening = Opening {
            job: id.to_owned(),
            cursor_ms: None,
            slots: vec![new],
        };
        let opened = self.parts.store.open_slots(vec![opening]).await?;
        let opened = opened.into_iter().next().ok_or_else(|| missing(id))?;
        let slot = opened.row.slot.clone();
        let repeated = opened.duplicate;
        if repeated || slot.state != SlotState::Due {
            return Ok(Fired { slot, repeated });
        }
        let mut replaced = Vec::new();
        {
            let mut book = self.book();
            if let Some(job) = book.get_mut(id) {
                if admission == Admission::Replace {
                    job.stop();
                    replaced = job.clear_waiting();
                }
                job.wait(opened.row, self.parts.clock.monotonic_ms());
            }
            book.plan(id, self.now_ms());
        }
        self.replaced(replaced);
        self.poke.notify_one();
        Ok(Fired { slot, repeated })
    }

    /// A job by its id or name.
    pub(super) fn row(&self, id: &str) -> Result<(JobRow, Ruled), WireError> {
        let book = self.book();
        let job = book.find(id).ok_or_else(|| missing(id))?;
        Ok((job.row.clone(), job.ruled.clone()))
    }

    /// Keeps what was changed of a job. The caller holds the pen.
    pub(super) async fn keep(
        &self,
        mut row: JobRow,
        ruled: Ruled,
        change: JobChange,
    ) -> Result<(), WireError> {
        let now_ms = self.now_ms();
        let anew = change.anew;
        if anew {
            row.cursor_ms = ruled.calendar.cursor_at(now_ms);
            row.failures = 0;
            row.problem = None;
        }
        self.parts
            .store
            .update_job(row.clone(), change.rules, change.told, anew)
            .await?;
        let mut book = self.book();
        if !anew && let Some(job) = book.find(&row.id) {
            // What slots changed meanwhile stays.
            row.failures = job.row.failures;
            row.cursor_ms = job.row.cursor_ms;
        }
        book.put(row, ruled, now_ms);
        drop(book);
        self.poke.notify_one();
        Ok(())
    }

    /// A row of a job that does not exist yet.
    pub(super) fn new_row(&self, now_ms: u64) -> JobRow {
        JobRow {
            id: format!("cron-{}", self.parts.dice.hex(ID_BYTES)),
            terms: terms::blank(),
            enabled: true,
            cursor_ms: now_ms,
            failures: 0,
            problem: None,
            nonce: self.parts.dice.hex(NONCE_BYTES),
            created_at: now_ms,
            updated_at: now_ms,
        }
    }

    /// A job as it stands.
    async fn view(&self, id: &str) -> Result<Job, WireError> {
        let (row, _) = self.row(id)?;
        let mut last = self.parts.store.last_slots(vec![row.id.clone()]).await?;
        let granted = grants::granted(&self.parts.store, owner(&row.terms)).await?;
        let book = self.book();
        let job = book.find(&row.id).ok_or_else(|| missing(id))?;
        let mut job = views::job(job, last.remove(&row.id), self.now_ms());
        job.terms.grants = granted;
        Ok(job)
    }

    /// Records that a person set a command, before it is set.
    async fn record_command(&self, call: &Call, terms: &JobTerms) -> Result<(), WireError> {
        let Some(errand) = terms::errand(&terms.work) else {
            return Ok(());
        };
        let (store, mask) = (&self.parts.store, &self.parts.mask);
        let owner = format!("cron:{}", terms.name);
        errand::record_set(store, mask, &call.caller, &owner, &errand).await
    }

    /// How the rules of a job change with its terms: replaced where grants were named, handed over
    /// where only its sessions have other names, else left alone.
    async fn rule_changes(
        &self,
        before: &JobTerms,
        now: &JobTerms,
        granted: Option<&[GrantView]>,
    ) -> Result<Vec<RuleChange>, WireError> {
        let planner = self.grants();
        let (from, to) = (owner(before), owner(now));
        let is_same = from.sessions() == to.sessions();
        match granted {
            None if is_same => Ok(Vec::new()),
            None => planner.hand_over(from, to).await,
            Some(granted) => {
                let mut changes = planner.replace(to, granted).await?;
                if !is_same {
                    changes.extend(planner.replace(from, &[]).await?);
                }
                Ok(changes)
            }
        }
    }

    pub(super) fn grants(&self) -> GrantPlanner<'_> {
        GrantPlanner {
            store: &self.parts.store,
            dice: &self.parts.dice,
            mask: &self.parts.mask,
        }
    }
}

pub(super) fn owner(terms: &JobTerms) -> Owner<'_> {
    Owner {
        room: ROOM,
        kind: terms::kind(terms),
        name: &terms.name,
    }
}

fn missing(id: &str) -> WireError {
    WireError::new(ErrorCode::NotFound, format!("There is no job '{id}'."))
}

fn refuse_heartbeat(row: &JobRow) -> Result<(), WireError> {
    if matches!(row.terms.work, Work::Heartbeat(_)) {
        let message = "The heartbeat is made by the settings: change `heartbeat.*` instead.";
        return Err(WireError::new(ErrorCode::Conflict, message));
    }
    Ok(())
}
