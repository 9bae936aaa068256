//! Calls of other systems: their secret, and what becomes of one.
//!
//! Invariants: no secret is stored, each is derived from the house's key and the job's nonce; an
//! unknown job, one that takes no calls and a wrong secret are answered alike; secrets in a call
//! are masked before it is stored or becomes a task.

use super::Shared;
use super::requests::JobChange;
use super::terms;
use super::views::Due;
use data_encoding::BASE64;
use hob_bus::Call;
use hob_core::hook;
use hob_kit::dice::Dice;
use hob_kit::failpoint;
use hob_kit::file;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_store::JobRow;
use hob_wire::rooms::cron::{
    CallerParams, CheckedCaller, CronChange, DeliverParams, Delivered, HookSecret, SecretParams,
    SlotOrigin, Work,
};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use tokio::sync::OnceCell;

/// The most of a body.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Random bytes of the house's key.
const KEY_BYTES: usize = 32;
/// Random bytes of a nonce, and of the mark of a call that has none.
pub(super) const NONCE_BYTES: usize = 12;

/// The key of the house, in a private file of the home; made when it is first needed.
pub(super) struct HouseKey {
    file: PathBuf,
    dice: Dice,
    mask: Mask,
    key: OnceCell<Vec<u8>>,
}

impl HouseKey {
    pub(super) fn new(home: &Home, dice: &Dice, mask: &Mask) -> HouseKey {
        HouseKey {
            file: home.hooks_key(),
            dice: dice.clone(),
            mask: mask.clone(),
            key: OnceCell::new(),
        }
    }

    async fn get(&self) -> Result<&[u8], WireError> {
        let key = self.key.get_or_try_init(|| async {
            let (file, fresh) = (self.file.clone(), self.dice.hex(KEY_BYTES));
            let read = tokio::task::spawn_blocking(move || read_or_make(&file, &fresh)).await;
            read.unwrap_or_else(|error| Err(std::io::Error::other(error)))
        });
        let key = key.await.map_err(|error| {
            let message = format!("The key of webhooks cannot be read: {error}.");
            WireError::new(ErrorCode::Internal, message)
        })?;
        if let Ok(text) = std::str::from_utf8(key) {
            self.mask.add(text.trim());
        }
        Ok(key)
    }
}

fn read_or_make(path: &std::path::Path, fresh: &str) -> std::io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Ok(key) if key.len() >= KEY_BYTES => Ok(key),
        Ok(_) => Err(std::io::Error::other(format!(
            "'{}' is too short; remove it, and every webhook gets a new secret",
            path.display()
        ))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            file::replace(path, fresh.as_bytes())?;
            Ok(fresh.as_bytes().to_vec())
        }
        Err(error) => Err(error),
    }
}

impl Shared {
    pub(super) async fn secret(
        &self,
        _: &Call,
        params: SecretParams,
    ) -> Result<HookSecret, WireError> {
        let _turn = self.pen.lock().await;
        let (mut row, ruled) = self.row(&params.id)?;
        if !ruled.calendar.is_webhook() {
            let message = format!(
                "The job '{}' is not called by others: its schedule is not `webhook`.",
                row.terms.name
            );
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        if params.renew {
            row.nonce = self.parts.dice.hex(NONCE_BYTES);
            row.updated_at = self.now_ms();
            let change = JobChange {
                told: CronChange::Updated,
                anew: false,
                rules: Vec::new(),
            };
            self.keep(row.clone(), ruled, change).await?;
        }
        let key = self.hooks.get().await?;
        let secret = hook::secret(key, &row.id, &row.nonce);
        self.parts.mask.add(&secret);
        Ok(HookSecret {
            path: format!("/hooks/{}", row.terms.name),
            secret,
            id: row.id,
        })
    }

    pub(super) async fn deliver(
        &self,
        _: &Call,
        params: DeliverParams,
    ) -> Result<Delivered, WireError> {
        let too_large = || {
            let message = format!("A call carries at most {BODY_BYTES_MAX} bytes.");
            WireError::new(ErrorCode::InvalidParams, message)
        };
        if params.body.len() > BODY_BYTES_MAX.div_ceil(3) * 4 + 4 {
            return Err(too_large());
        }
        let body = BASE64
            .decode(params.body.as_bytes())
            .map_err(|_| terms::wrong("`body` is not base64.".to_owned()))?;
        if body.len() > BODY_BYTES_MAX {
            return Err(too_large());
        }
        let open = self.open_hook(&params.id).await?;
        let proof = hook::verify(&open.secret, &params.headers, &body, self.now_ms());
        let (Some(row), Ok(mark)) = (open.row, proof) else {
            return Err(no_such_hook());
        };
        self.parts.mask.add(&open.secret);
        let own_task = match &row.terms.work {
            Work::Agent(agent) => Some(self.task_of(&agent.task, &params, &body)),
            Work::Loop { .. } | Work::Command(_) | Work::Heartbeat(_) => None,
        };
        let key = mark.key().map(str::to_owned);
        let same_within_ms = key.as_ref().map(|_| mark.same_within_ms());
        let unmarked = || self.parts.dice.hex(NONCE_BYTES);
        let due = Due {
            at_ms: self.now_ms(),
            origin: SlotOrigin::Webhook,
            mark: match key {
                // Fault test 97: what is played again must be noticed.
                Some(key) if !failpoint::broken(97) => key,
                _ => unmarked(),
            },
        };
        let fired = self.fire(&row.id, due, own_task, same_within_ms).await?;
        Ok(Delivered {
            slot: fired.slot,
            repeated: fired.repeated,
        })
    }

    /// Whether a caller that shows the secret itself may send a body.
    pub(super) async fn check_caller(
        &self,
        _: &Call,
        params: CallerParams,
    ) -> Result<CheckedCaller, WireError> {
        if !hook::shows_secret(&params.headers) {
            return Ok(CheckedCaller { proven: false });
        }
        let open = self.open_hook(&params.id).await?;
        let proof = hook::verify_bearer(&open.secret, &params.headers);
        match (open.row, proof) {
            (Some(_), Ok(())) => Ok(CheckedCaller { proven: true }),
            _ => Err(no_such_hook()),
        }
    }

    /// The secret of a hook, and its job. One that is not there has a secret nobody knows, so that
    /// refusing it takes as long.
    async fn open_hook(&self, id: &str) -> Result<OpenHook, WireError> {
        let key = self.hooks.get().await?;
        let found = self.row(id).ok();
        let open = found.filter(|(row, ruled)| row.enabled && ruled.calendar.is_webhook());
        let row = open.map(|(row, _)| row);
        let (id, nonce) = row.as_ref().map_or(("", ""), |row| (&row.id, &row.nonce));
        Ok(OpenHook {
            secret: hook::secret(key, id, nonce),
            row,
        })
    }

    /// The task that a call makes, without secrets: it is stored and sent to a model.
    fn task_of(&self, template: &str, params: &DeliverParams, body: &[u8]) -> String {
        let mask = &self.parts.mask;
        let masked = |text: &str| mask.apply_exact(text).into_owned();
        let values = |of: &BTreeMap<String, String>| {
            let masked = of.iter().map(|(name, value)| (name.clone(), masked(value)));
            masked.collect::<BTreeMap<_, _>>()
        };
        // Before it is filled in, because a long value is cut there; and after, because a value
        // of JSON may spell a secret with escapes.
        let body = masked(&String::from_utf8_lossy(body));
        let call = hook::Call {
            body: body.as_bytes(),
            headers: &values(&params.headers),
            query: &values(&params.query),
        };
        masked(&hook::fill(template, call))
    }
}

/// A hook that may be called.
struct OpenHook {
    secret: String,
    row: Option<JobRow>,
}

fn no_such_hook() -> WireError {
    let message = "There is no such hook, or its secret is another one.";
    WireError::new(ErrorCode::Unauthorized, message)
}
