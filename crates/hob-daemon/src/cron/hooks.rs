//! Webhooks: their secrets, and the slots that a call opens.
//!
//! Invariants: no secret is stored, each is derived from the daemon's hook key and the job's nonce;
//! an unknown job, a job without a webhook and a wrong secret get the same answer; secrets in a
//! call are masked before it is stored or becomes a task.

use super::CronContext;
use super::requests::JobChange;
use super::terms;
use super::views::SlotTrigger;
use data_encoding::BASE64;
use hob_core::webhook;
use hob_kit::atomic_file;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_store::JobRow;
use hob_wire::rooms::cron::{
    CronChange, CronCheckCallerParams, CronCheckCallerResult, CronDeliverParams, CronDeliverResult,
    CronSecretParams, HookSecret, JobWork, SlotOrigin,
};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use tokio::sync::OnceCell;

/// The largest body of a call.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Random bytes of the hook key.
const KEY_BYTES: usize = 32;
/// Random bytes of a nonce, and of the dedup key of a call that brings none.
pub(super) const NONCE_BYTES: usize = 12;

/// The key from which all hook secrets are derived. It lies in a private file of the home and is
/// created when it is first needed.
pub(super) struct HookKey {
    file: PathBuf,
    randomness: Randomness,
    mask: SecretMask,
    key: OnceCell<Vec<u8>>,
}

impl HookKey {
    pub(super) fn new(home: &Home, randomness: &Randomness, mask: &SecretMask) -> HookKey {
        HookKey {
            file: home.hooks_key(),
            randomness: randomness.clone(),
            mask: mask.clone(),
            key: OnceCell::new(),
        }
    }

    async fn get(&self) -> Result<&[u8], WireError> {
        let key = self.key.get_or_try_init(|| async {
            let (file, fresh) = (self.file.clone(), self.randomness.hex(KEY_BYTES));
            let read = tokio::task::spawn_blocking(move || read_or_create(&file, &fresh)).await;
            read.unwrap_or_else(|error| Err(std::io::Error::other(error)))
        });
        let key = key.await.map_err(|error| {
            let message = format!("The key of the webhooks cannot be read: {error}.");
            WireError::new(ErrorCode::Internal, message)
        })?;
        if let Ok(text) = std::str::from_utf8(key) {
            // Whoever knows the key knows every hook's secret, so it must not show in any log.
            self.mask.add(text.trim());
        }
        Ok(key)
    }
}

fn read_or_create(path: &std::path::Path, fresh: &str) -> std::io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Ok(key) if key.len() >= KEY_BYTES => Ok(key),
        // A damaged key would weaken every secret, so no secret is derived from it.
        Ok(_) => Err(std::io::Error::other(format!(
            "'{}' is too short; remove it (every webhook then gets a new secret)",
            path.display()
        ))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Written as a whole: half a key left by a crash would be refused from then on.
            atomic_file::replace(path, fresh.as_bytes())?;
            Ok(fresh.as_bytes().to_vec())
        }
        Err(error) => Err(error),
    }
}

impl CronContext {
    pub(super) async fn secret(&self, params: CronSecretParams) -> Result<HookSecret, WireError> {
        let _guard = self.write_lock.lock().await;
        let (mut row, timing) = self.job_row(&params.id)?;
        if !timing.calendar.is_webhook() {
            let message = format!(
                "The job '{}' has no webhook: its schedule is not `webhook`.",
                row.terms.name
            );
            return Err(WireError::new(ErrorCode::Conflict, message));
        }
        if params.renew {
            row.nonce = self.deps.randomness.hex(NONCE_BYTES);
            row.updated_at = self.now_ms();
            let change = JobChange {
                event: CronChange::Updated,
                restarts: false,
                rules: Vec::new(),
            };
            self.save_job(row.clone(), timing, change).await?;
        }
        let key = self.hook_key.get().await?;
        let secret = webhook::job_secret(key, &row.id, &row.nonce);
        self.deps.mask.add(&secret);
        Ok(HookSecret {
            path: format!("/hooks/{}", row.terms.name),
            secret,
            id: row.id,
        })
    }

    pub(super) async fn deliver(
        &self,
        params: CronDeliverParams,
    ) -> Result<CronDeliverResult, WireError> {
        let too_large = || {
            let message = format!("The body of a call has at most {BODY_BYTES_MAX} bytes.");
            WireError::new(ErrorCode::InvalidParams, message)
        };
        // Base64 writes three bytes as four characters and may pad the last group.
        if params.body.len() > BODY_BYTES_MAX.div_ceil(3) * 4 + 4 {
            return Err(too_large());
        }
        // The length of the base64 text is checked first, so that an oversized body is never decoded.
        let body = BASE64
            .decode(params.body.as_bytes())
            .map_err(|_| terms::invalid("`body` is not base64.".to_owned()))?;
        if body.len() > BODY_BYTES_MAX {
            return Err(too_large());
        }
        let open = self.open_hook(&params.id).await?;
        let proof = webhook::verify(&open.secret, &params.headers, &body, self.now_ms());
        // One answer for every failure: a caller learns neither which jobs exist nor what was wrong.
        let (Some(row), Ok(mark)) = (open.row, proof) else {
            return Err(no_such_hook());
        };
        // The caller may repeat the secret in a header or the body, which become part of the task.
        self.deps.mask.add(&open.secret);
        let own_task = match &row.terms.work {
            JobWork::Agent(agent) => Some(self.render_task(&agent.task, &params, &body)),
            // Other work takes no text, so the content of the call is not used.
            JobWork::Loop { .. } | JobWork::Command(_) | JobWork::Heartbeat(_) => None,
        };
        let key = mark.key().map(str::to_owned);
        let same_within_ms = key.as_ref().map(|_| mark.remembered_ms());
        // Without a mark from the caller every call counts as a new one.
        let unmarked = || self.deps.randomness.hex(NONCE_BYTES);
        let due = SlotTrigger {
            at_ms: self.now_ms(),
            origin: SlotOrigin::Webhook,
            dedup_key: key.unwrap_or_else(unmarked),
        };
        let fired = self
            .open_slot(&row.id, due, own_task, same_within_ms)
            .await?;
        Ok(CronDeliverResult {
            slot: fired.slot,
            repeated: fired.repeated,
        })
    }

    /// Checks a caller that presents the secret itself, before its body is read.
    pub(super) async fn check_caller(
        &self,
        params: CronCheckCallerParams,
    ) -> Result<CronCheckCallerResult, WireError> {
        if !webhook::uses_bearer(&params.headers) {
            return Ok(CronCheckCallerResult { proven: false });
        }
        let open = self.open_hook(&params.id).await?;
        let proof = webhook::verify_bearer(&open.secret, &params.headers);
        match (open.row, proof) {
            (Some(_), Ok(())) => Ok(CronCheckCallerResult { proven: true }),
            _ => Err(no_such_hook()),
        }
    }

    /// Returns a hook's secret and its job. For an unknown hook it derives a secret too, so that the
    /// refusal takes the same time.
    async fn open_hook(&self, id: &str) -> Result<OpenHook, WireError> {
        let key = self.hook_key.get().await?;
        let found = self.job_row(id).ok();
        let open = found.filter(|(row, timing)| row.enabled && timing.calendar.is_webhook());
        let row = open.map(|(row, _)| row);
        let (id, nonce) = row.as_ref().map_or(("", ""), |row| (&row.id, &row.nonce));
        Ok(OpenHook {
            secret: webhook::job_secret(key, id, nonce),
            row,
        })
    }

    /// Renders the task of a call, with secrets masked: it is stored and sent to a model.
    fn render_task(&self, template: &str, params: &CronDeliverParams, body: &[u8]) -> String {
        let mask = &self.deps.mask;
        let masked = |text: &str| mask.apply_exact(text).into_owned();
        let values = |of: &BTreeMap<String, String>| {
            let masked = of.iter().map(|(name, value)| (name.clone(), masked(value)));
            masked.collect::<BTreeMap<_, _>>()
        };
        // Masked before filling in, because a long value is cut there and half a secret would not
        // match; and again after it, because JSON may spell a secret with escapes.
        let body = masked(&String::from_utf8_lossy(body));
        let call = webhook::WebhookCall {
            body: body.as_bytes(),
            headers: &values(&params.headers),
            query: &values(&params.query),
        };
        masked(&webhook::fill_template(template, call))
    }
}

/// The secret to check a call against, and the job if its hook is enabled.
struct OpenHook {
    secret: String,
    row: Option<JobRow>,
}

fn no_such_hook() -> WireError {
    let message = "There is no such hook, or the secret is wrong.";
    WireError::new(ErrorCode::Unauthorized, message)
}
