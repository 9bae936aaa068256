//! Tokens in SQL. Only the hash of a token's text is stored. Invariant: at most one live token has
//! a given name.

use crate::batch::WriteBatch;
use crate::checksums::TOKENS;
use crate::checksums::damage::{RowName, WithDamage, damaged_row_error, stored_text};
use crate::error::{QueryError, StoreError};
use crate::store::Store;
use crate::validate;
use crate::value::{int, number, uint};
use hob_wire::DamagedRow;
use hob_wire::rooms::token::TokenInfo;
use rusqlite::{Connection, Row};

/// Live tokens.
const TOKENS_MAX: u64 = 1_000;

/// A token as it is stored: without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    pub info: TokenInfo,
    /// The SHA-256 of the token's text.
    pub secret_hash: [u8; 32],
}

impl Store {
    /// Stores a new token, whose name must be free among the live ones.
    pub async fn insert_token(&self, token: TokenRow) -> Result<(), StoreError> {
        validate::token_name(&token.info.name)?;
        self.write(0, move |batch| insert(batch, &token)).await
    }

    /// Returns every token, revoked ones included, oldest first; damaged ones apart.
    pub async fn list_tokens(&self) -> Result<WithDamage<Vec<TokenRow>>, StoreError> {
        self.read_with_damage(list).await
    }

    /// Returns the folders that a model may read for the live token with this id.
    pub async fn token_workspaces(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let id = id.to_owned();
        let read = move |sql: &_| workspaces(sql, &id);
        self.read(read).await
    }

    /// Revokes the token with this id, or the live one with this name.
    pub async fn revoke_token(&self, id_or_name: &str, at: u64) -> Result<TokenInfo, StoreError> {
        let named = id_or_name.to_owned();
        let revoked = self.write(0, move |batch| revoke(batch, &named, at));
        let info = revoked.await?;
        self.forget_damaged("tokens", id_or_name);
        Ok(info)
    }
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

/// Selects the columns of [`from_row`], and the checksum state in the last column.
fn select() -> String {
    format!(
        "SELECT {}, {} FROM tokens t",
        COLUMN_NAMES.join(", "),
        TOKENS.checksum_state_sql("t")
    )
}

fn insert(batch: &WriteBatch<'_>, token: &TokenRow) -> Result<(), QueryError> {
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
        .prepare_cached(&TOKENS.insert_sql(&COLUMN_NAMES))?
        .execute((
            &info.id,
            &info.name,
            info.scopes.join(","),
            int(info.created_at),
            info.expires_at.map(int),
            info.revoked_at.map(int),
            &token.secret_hash[..],
            // A list of strings always encodes; if it did not, the token would allow no folder.
            serde_json::to_string(&info.workspaces).unwrap_or_else(|_| "[]".to_owned()),
        ))?;
    Ok(())
}

fn list(sql: &Connection) -> Result<WithDamage<Vec<TokenRow>>, QueryError> {
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

/// Returns the folders of a live token; none for an unknown one.
fn workspaces(sql: &Connection, id: &str) -> Result<Vec<String>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{} WHERE id = ?1 AND revoked_at IS NULL",
        select()
    ))?;
    let mut rows = select.query([id])?;
    match rows.next()? {
        Some(row) if is_whole(sql, row)? => Ok(from_row(row)?.info.workspaces),
        // A damaged list could name any folder, so it grants none.
        Some(row) => Err(damaged_row_error(damaged(row)?)),
        None => Ok(Vec::new()),
    }
}

/// Revokes by id, or by the name of a live token. Revoking by id again changes nothing.
fn revoke(batch: &WriteBatch<'_>, id_or_name: &str, at_ms: u64) -> Result<TokenInfo, QueryError> {
    let mut select = batch.sql.prepare_cached(&format!(
        // An id wins over another token that has this id as its name.
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
        // In the same transaction: a crash in between would leave a row that looks damaged.
        TOKENS.write_checksum(batch.sql, [&info.id])?;
        info.revoked_at = Some(at_ms);
    }
    Ok(info)
}

/// Deletes a damaged token: its remaining data is not trusted.
fn remove_damaged(
    batch: &WriteBatch<'_>,
    id_or_name: &str,
    at_ms: u64,
) -> Result<TokenInfo, QueryError> {
    let delete = format!(
        "DELETE FROM tokens AS t WHERE (id = ?1 OR name = ?1) AND ({}) IS NOT 1",
        TOKENS.checksum_state_sql("t")
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
    // Tokens of earlier versions have no list.
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
                None => TokenInfo::upgrade_note(scopes).map(str::to_owned),
            },
            // A list that cannot be read allows nothing.
            workspaces: workspaces
                .and_then(|list| serde_json::from_str(&list).ok())
                .unwrap_or_default(),
        },
        secret_hash: row.get(6)?,
    })
}
