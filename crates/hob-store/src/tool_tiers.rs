//! The tiers that an admin set for tools of outside services, in SQL.
//!
//! Invariant: a change and its entry in the audit record are one transaction.

use crate::audit::{NewAuditEntry, audit_log};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::store::Store;
use crate::value::int;
use hob_wire::work::Tier;
use rusqlite::{Connection, Row};

/// Tools with a tier of their own; more than a home has.
const TIERS_MAX: u64 = 10_000;

/// A tier that an admin set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolTierRow {
    /// The tool's name.
    pub name: String,
    pub service: String,
    /// The hash of the service's declaration when the tier was set.
    pub fingerprint: String,
    pub tier: Tier,
    pub set_by: String,
}

impl Store {
    /// Returns every tier that was set.
    pub async fn tool_tiers(&self) -> Result<Vec<ToolTierRow>, StoreError> {
        self.read(list).await
    }

    /// Sets the tier of a tool, replacing an earlier one.
    pub async fn set_tool_tier(
        &self,
        row: ToolTierRow,
        entry: NewAuditEntry,
    ) -> Result<(), StoreError> {
        // Checked for size here and appended with the change, so that neither is written alone.
        let entries = vec![entry];
        let bytes = audit_log::check(&entries)? + row.name.len() + row.service.len();
        self.write(bytes, move |batch| {
            put(batch, &row)?;
            audit_log::append(batch, &entries)?;
            Ok(())
        })
        .await
    }

    /// Removes the tier of a tool.
    pub async fn remove_tool_tier(
        &self,
        name: &str,
        entry: NewAuditEntry,
    ) -> Result<(), StoreError> {
        let name = name.to_owned();
        let entries = vec![entry];
        let bytes = audit_log::check(&entries)? + name.len();
        self.write(bytes, move |batch| {
            batch
                .sql
                .prepare_cached("DELETE FROM tool_tiers WHERE name = ?1")?
                .execute([&name])?;
            audit_log::append(batch, &entries)?;
            Ok(())
        })
        .await
    }
}

fn put(batch: &WriteBatch<'_>, row: &ToolTierRow) -> Result<(), QueryError> {
    // The tool itself is not counted, because a tier can be replaced at the bound too.
    let kept: u64 = batch
        .sql
        .prepare_cached("SELECT count(*) FROM tool_tiers WHERE name <> ?1")?
        .query_row([&row.name], |found| crate::value::number(found, 0))?;
    if kept >= TIERS_MAX {
        let message = format!("{TIERS_MAX} tools have a tier of their own already.");
        return Err(StoreError::Conflict(message).into());
    }
    batch
        .sql
        .prepare_cached(
            "INSERT OR REPLACE INTO tool_tiers (name, service, fingerprint, tier, set_by, set_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            &row.name,
            &row.service,
            &row.fingerprint,
            row.tier.name(),
            &row.set_by,
            int(batch.now_ms),
        ))?;
    Ok(())
}

fn list(sql: &Connection) -> Result<Vec<ToolTierRow>, QueryError> {
    let mut select = sql.prepare_cached(
        "SELECT name, service, fingerprint, tier, set_by FROM tool_tiers ORDER BY name",
    )?;
    let rows = select.query_map([], from_row)?;
    let rows: Vec<Option<ToolTierRow>> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// An unknown word is no tier: the tool then counts as `external`.
fn from_row(row: &Row<'_>) -> rusqlite::Result<Option<ToolTierRow>> {
    let word = row.get_ref(3)?.as_str()?;
    let Some(tier) = Tier::parse(word) else {
        return Ok(None);
    };
    Ok(Some(ToolTierRow {
        name: row.get(0)?,
        service: row.get(1)?,
        fingerprint: row.get(2)?,
        tier,
        set_by: row.get(4)?,
    }))
}
