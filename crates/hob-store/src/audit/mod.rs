//! What is allowed and denied: stored rules, and the hash-chained record of every decision.
//!
//! - `words`: what callers say and are told
//! - `rules`: the stored rules; `granted`: those of loops and jobs
//! - `audit`: the record
//!
//! Invariants: a decision, the event that tells of it, the rule that came of it and its entry in
//! the record are one transaction; entries are only ever added, one after the other, by the writer.

pub(crate) mod audit;
pub(crate) mod granted;
mod rules;
mod words;

pub use granted::{RuleChange, RuleReplacement};
pub(crate) use rules::end_session;
pub use words::{Judgement, KeptRule, NewEntry, NewRule};

use crate::checksums::damage::WithDamage;
use crate::error::StoreError;
use crate::events::Place;
use crate::rules as bounds;
use crate::store::Store;
use hob_core::permission::Chain;
use hob_wire::RunId;
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::audit::{Entries, ListParams as AuditListParams, Page};
use hob_wire::rooms::permission::ListParams;
use hob_wire::rule::Rule;
use rules::Planned;

/// Rules read at once when all are.
const RULES_A_READ: usize = 512;

impl Store {
    /// Writes a decision with all that belongs to it; answers the rule that came of it, if one
    /// did. A rule that was stored before, by its idempotency key, writes nothing.
    pub async fn judge(&self, judgement: Judgement) -> Result<Option<KeptRule>, StoreError> {
        let payload = judgement.event.as_ref();
        let payload = payload.and_then(|event| event.payload.as_ref());
        let key = judgement.rule.as_ref();
        let key = key.and_then(|rule| rule.idempotency_key.as_deref());
        key.map_or(Ok(()), bounds::idempotency_key)?;
        let bytes = audit::check(&judgement.entries)? + payload.map_or(0, bytes::Bytes::len);
        self.write(bytes, move |batch| {
            let kept = match &judgement.rule {
                None => None,
                Some(new) => match rules::plan(batch, new)? {
                    Planned::Repeat(kept) => return Ok(Some(*kept)),
                    Planned::New { session } => Some(rules::insert(batch, new, session.as_ref())?),
                },
            };
            audit::append(batch, &judgement.entries)?;
            if let Some(event) = judgement.event.clone() {
                batch.log(event, Place::Alone)?;
            }
            hob_kit::failpoint::reach("judgement.written");
            Ok(kept)
        })
        .await
    }

    /// The rule with this id, or the one whose id begins so.
    pub async fn rule(&self, id: &str) -> Result<Rule, StoreError> {
        let id = id.to_owned();
        self.read(move |sql| rules::find(sql, &id)).await
    }

    /// Removes the rule with this whole id; `entry` tells of it.
    pub async fn remove_rule(&self, id: &str, entry: NewEntry) -> Result<Rule, StoreError> {
        let named = id.to_owned();
        let entries = vec![entry];
        let bytes = audit::check(&entries)?;
        let removed = self.write(bytes, move |batch| {
            let rule = rules::find(batch.sql, &named)?;
            rules::remove(batch, &rule.id)?;
            audit::append(batch, &entries)?;
            Ok(rule)
        });
        let rule = removed.await?;
        self.forget_damaged("rules", id);
        Ok(rule)
    }

    /// Every rule, after those that are over were removed; damaged ones apart.
    pub async fn all_rules(&self) -> Result<WithDamage<Vec<KeptRule>>, StoreError> {
        self.write(0, |batch| Ok(rules::prune(batch)?)).await?;
        let mut all = WithDamage::<Vec<KeptRule>>::default();
        let mut after = 0;
        loop {
            let read = self.read_with_damage(move |sql| rules::page(sql, after, RULES_A_READ));
            let page = read.await?;
            let (rules, last) = page.rows;
            all.rows.extend(rules);
            all.damaged.extend(page.damaged);
            match last {
                Some(last) => after = last,
                None => return Ok(all),
            }
        }
    }

    /// Rules that have not expired, the newest first, and whether there are more.
    pub async fn list_rules(
        &self,
        params: ListParams,
        now_ms: u64,
    ) -> Result<WithDamage<(Vec<Rule>, bool)>, StoreError> {
        let session = params.session_key.as_deref().map(bounds::session_ref);
        let filter = rules::Filter {
            tool: params.tool,
            session: session.transpose()?,
            after: params.after,
            rows_max: bounds::page_rows(params.limit, PAGE_ROWS_DEFAULT)?,
        };
        self.read_with_damage(move |sql| rules::list(sql, &filter, now_ms))
            .await
    }

    /// The rules that a room made for its loops or jobs, in the order they were made; with
    /// `sessions` only those for them.
    pub async fn rules_made_by(
        &self,
        room: &str,
        sessions: Option<&str>,
    ) -> Result<Vec<Rule>, StoreError> {
        let (room, sessions) = (room.to_owned(), sessions.map(str::to_owned));
        self.read(move |sql| granted::made_by(sql, &room, sessions.as_deref()))
            .await
    }

    /// Rises with each commit that changed rules together with a loop or a job: whoever holds the
    /// rules in memory reads them again.
    pub fn rules_version(&self) -> u64 {
        self.shared().rules_version()
    }

    /// Follows the chain of the record, a page at a time: entries that come meanwhile are
    /// followed too, and writers never wait for it. Answers what is wrong, if anything.
    pub async fn follow_audit(&self, chain: &mut Chain) -> Result<Option<String>, StoreError> {
        loop {
            let page = self.audit_after(chain.entries()).await?;
            let problem = audit::follow(chain, &page.entries, &page.damaged);
            if problem.is_some() || !page.more {
                return Ok(problem);
            }
        }
    }

    /// Removes the rules of a run that is over; answers how many there were.
    pub async fn end_run_rules(&self, run: RunId) -> Result<usize, StoreError> {
        self.write(0, move |batch| Ok(rules::end_run(batch, run)?))
            .await
    }

    /// Entries of the record, the newest first.
    pub async fn list_audit(&self, params: AuditListParams) -> Result<Entries, StoreError> {
        let filter = audit::Filter {
            session_key: params.session_key,
            run: params.run_id,
            tool: params.tool,
            before: params.before,
            rows_max: bounds::page_rows(params.limit, PAGE_ROWS_DEFAULT)?,
        };
        let read = self.read_with_damage(move |sql| audit::list(sql, &filter));
        let page = read.await?;
        let (entries, more) = page.rows;
        Ok(Entries {
            entries,
            more,
            damaged: page.damaged,
        })
    }

    /// Entries of the record in order, from after one.
    pub async fn audit_after(&self, after: u64) -> Result<Page, StoreError> {
        let rows_max = PAGE_ROWS_MAX as usize;
        let read = self.read_with_damage(move |sql| audit::after(sql, after, rows_max));
        let page = read.await?;
        let (entries, more) = page.rows;
        Ok(Page {
            entries,
            more,
            damaged: page.damaged,
        })
    }
}
