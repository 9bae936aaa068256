//! Credentials in SQL. Only the hash of a token's text is kept. Invariant: at any time at most one
//! live token has a given name.

use crate::batch::Batch;
use crate::checksums::TOKENS;
use crate::checksums::damage::{RowName, WithDamage, refusal, stored_text};
use crate::error::{StoreError, Trouble};
use crate::value::{int, number, uint};
use hob_wire::DamagedRow;
use hob_wire::rooms::token::TokenInfo;
use rusqlite::{Connection, Row};

/// Tokens that live at once.
const TOKENS_MAX: u64 = 1_000;

/// A credential as it is kept: without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    pub info: TokenInfo,
    /// SHA-256 of the token's text.
    pub secret_hash: [u8; 32],
}

const COLUMN_NAMES: [&str; 8] = [
    "id",
    "name",
    "scopes",
    "created_at",
    "expires_at",
    "revoked_at",
    "secret_hash",
    "workspaces",
];

/// A select of what [`from_row`] reads, and in the last column whether the row is whole.
fn select() -> String {
    format!(
        "SELECT {}, {} FROM tokens t",
        COLUMN_NAMES.join(", "),
        TOKENS.state("t")
    )
}

pub(crate) fn insert(batch: &Batch<'_>, token: &TokenRow) -> Result<(), Trouble> {
    let info = &token.info;
    let kept: u64 = batch
        .sql
        .prepare_cached(
            "SELECT count(*) FROM tokens WHERE revoked_at IS NULL
             AND (expires_at IS NULL OR expires_at > ?1)",
        )?
        .query_row([int(batch.now_ms)], |row| number(row, 0))?;
    if kept >= TOKENS_MAX {
        return Err(StoreError::Conflict(format!(
            "There are {TOKENS_MAX} tokens already; revoke some that are no longer used."
        ))
        .into());
    }
    let name_in_use = batch
        .sql
        .prepare_cached(
            "SELECT 1 FROM tokens WHERE id = ?1 OR (name = ?2 AND revoked_at IS NULL
             AND (expires_at IS NULL OR expires_at > ?3))",
        )?
        .exists((&info.id, &info.name, int(batch.now_ms)))?;
    if name_in_use {
        return Err(StoreError::Conflict(format!(
            "There is a token named '{}' already; revoke it first or choose another name.",
            info.name
        ))
        .into());
    }
    batch
        .sql
        .prepare_cached(&TOKENS.insert(&COLUMN_NAMES))?
        .execute((
            &info.id,
            &info.name,
            info.scopes.join(","),
            int(info.created_at),
            info.expires_at.map(int),
            info.revoked_at.map(int),
            &token.secret_hash[..],
            serde_json::to_string(&info.workspaces).unwrap_or_else(|_| "[]".to_owned()),
        ))?;
    Ok(())
}

pub(crate) fn list(sql: &Connection) -> Result<WithDamage<Vec<TokenRow>>, Trouble> {
    let mut select = sql.prepare_cached(&format!("{} ORDER BY created_at, id", select()))?;
    let mut rows = select.query([])?;
    let mut found = WithDamage::<Vec<TokenRow>>::default();
    while let Some(row) = rows.next()? {
        if is_whole(sql, row)? {
            found.rows.push(from_row(row)?);
        } else {
            found.damaged.push(damaged(row)?);
        }
    }
    Ok(found)
}

/// The folders that a live token names; none for anybody else.
pub(crate) fn workspaces(sql: &Connection, id: &str) -> Result<Vec<String>, Trouble> {
    let mut select = sql.prepare_cached(&format!(
        "{} WHERE id = ?1 AND revoked_at IS NULL",
        select()
    ))?;
    let mut rows = select.query([id])?;
    match rows.next()? {
        Some(row) if is_whole(sql, row)? => Ok(from_row(row)?.info.workspaces),
        Some(row) => Err(refusal(damaged(row)?)),
        None => Ok(Vec::new()),
    }
}

/// Revokes by id, or by the name of one that is not revoked; a repeat by id changes nothing.
pub(crate) fn revoke(
    batch: &Batch<'_>,
    id_or_name: &str,
    at_ms: u64,
) -> Result<TokenInfo, Trouble> {
    let mut select = batch.sql.prepare_cached(&format!(
        "{} WHERE id = ?1 OR (name = ?1 AND revoked_at IS NULL)
         ORDER BY id = ?1 DESC, created_at DESC LIMIT 1",
        select()
    ))?;
    let mut rows = select.query([id_or_name])?;
    let found = match rows.next()? {
        None => None,
        Some(row) if is_whole(batch.sql, row)? => Some(from_row(row)?),
        Some(_) => return remove_damaged(batch, id_or_name, at_ms),
    };
    drop(rows);
    let Some(TokenRow { mut info, .. }) = found else {
        let missing = format!("There is no token with the id or name '{id_or_name}'.");
        return Err(StoreError::NotFound(missing).into());
    };
    if info.revoked_at.is_none() {
        batch
            .sql
            .prepare_cached("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1")?
            .execute((&info.id, int(at_ms)))?;
        TOKENS.seal(batch.sql, [&info.id])?;
        info.revoked_at = Some(at_ms);
    }
    Ok(info)
}

/// A damaged token is taken away whole: what is left of it is worth nothing.
fn remove_damaged(batch: &Batch<'_>, id_or_name: &str, at_ms: u64) -> Result<TokenInfo, Trouble> {
    let delete = format!(
        "DELETE FROM tokens AS t WHERE (id = ?1 OR name = ?1) AND ({}) IS NOT 1",
        TOKENS.state("t")
    );
    batch.sql.prepare_cached(&delete)?.execute([id_or_name])?;
    Ok(TokenInfo {
        id: id_or_name.to_owned(),
        name: id_or_name.to_owned(),
        scopes: Vec::new(),
        created_at: 0,
        expires_at: None,
        revoked_at: Some(at_ms),
        note: Some("The token was damaged and is removed.".to_owned()),
        workspaces: Vec::new(),
    })
}

fn is_whole(sql: &Connection, row: &Row<'_>) -> rusqlite::Result<bool> {
    TOKENS.is_whole(sql, row, COLUMN_NAMES.len(), (0, 0))
}

fn damaged(row: &Row<'_>) -> rusqlite::Result<DamagedRow> {
    let id = row.get_ref(0)?;
    Ok(TOKENS.damaged(&RowName {
        id: stored_text(id),
        ..RowName::default()
    }))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let scopes = row.get_ref(2)?.as_str()?;
    // Tokens of a former version have no list.
    let workspaces = row.get::<_, Option<String>>(7)?;
    let optional = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(uint));
    Ok(TokenRow {
        info: TokenInfo {
            id: row.get(0)?,
            name: row.get(1)?,
            scopes: scopes.split(',').map(ToOwned::to_owned).collect(),
            created_at: number(row, 3)?,
            expires_at: optional(4)?,
            revoked_at: optional(5)?,
            note: match &workspaces {
                Some(_) => None,
                None => TokenInfo::note_of_former_version(scopes).map(str::to_owned),
            },
            // A list that cannot be read allows nothing.
            workspaces: workspaces
                .and_then(|list| serde_json::from_str(&list).ok())
                .unwrap_or_default(),
        },
        secret_hash: row.get(6)?,
    })
}
