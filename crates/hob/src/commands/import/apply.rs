//! Carries an import out, through the daemon's own methods.
//!
//! Invariants: what hob has already is left as it is; each step can be repeated; a thing that the
//! daemon refuses is reported with its reason, and the others go on.

use super::report::ImportReport;
use super::sessions::{self, ImportProgress};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::progress_line::ProgressLine;
use hob_client::{Client, ClientError};
use hob_dialects::import_plan::{
    ImportPlan, ImportedJob, ImportedKey, ImportedLoop, ImportedPersona, ImportedSetting,
};
use hob_kit::atomic_file;
use hob_wire::rooms::config::{
    ConfigGetParams, ConfigOrigin, ConfigSetParams, ConfigSetting, Get as ConfigGet,
    Set as ConfigSet,
};
use hob_wire::rooms::cron::{Add as CronAdd, CronAddParams};
use hob_wire::rooms::loops::{Create as LoopCreate, LoopCreateParams};
use hob_wire::rooms::model::{
    KeepKey, KeepKeyOutcome, ModelKeepKeyParams, ModelSetParams, Set as ModelSet,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// The alias of the model that is used if none is named, and its setting.
const DEFAULT_ALIAS: &str = "default";
const DEFAULT_MODEL: &str = "model.default";
/// The file in hob's home with which a person shapes how hob speaks.
const PERSONA_FILE: &str = "persona.md";
/// The reason in the details of a refused model.
const UNKNOWN_MODEL: &str = "unknown-model";

pub(super) async fn apply(
    context: &CommandContext,
    plan: ImportPlan,
    enable_jobs: bool,
) -> Result<ImportReport, CommandFailure> {
    let client = context.client().await?;
    let mut report = ImportReport::of(&plan);
    let line = ProgressLine::new(context.terminal.stderr_screen(), context.terminal.json);
    let progress = ImportProgress::new(line, &plan);
    sessions::import(&client, &plan.sessions, &progress, &mut report).await?;
    progress.clear();
    let mut import = ImportStep {
        client: &client,
        report: &mut report,
        system: plan.system,
    };
    // Keys come before the model that needs one.
    for key in &plan.keys {
        import.keep_key(key).await?;
    }
    if let Some(model) = &plan.default_model {
        import.set_default_model(model).await?;
    }
    for setting in &plan.settings {
        import.set(setting).await?;
    }
    for job in &plan.jobs {
        import.add_job(job, enable_jobs && job.was_enabled).await?;
    }
    for imported in &plan.loops {
        import.create_loop(imported).await?;
    }
    if let Some(persona) = &plan.persona {
        let file = context.host.home.root().join(PERSONA_FILE);
        import.write_persona(persona, &file);
    }
    Ok(report)
}

struct ImportStep<'c> {
    client: &'c Client,
    report: &'c mut ImportReport,
    system: &'static str,
}

/// The answer of the daemon: done, or refused for this thing alone.
pub(super) type StepResult<T> = Result<Result<T, WireError>, ClientError>;

/// Separates a refusal of one thing from other failures, which end the import.
pub(super) fn refusal<T>(answer: Result<T, ClientError>) -> StepResult<T> {
    match answer {
        Ok(done) => Ok(Ok(done)),
        Err(ClientError::Wire(error)) if is_refusal(error.code) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

fn is_refusal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::InvalidParams
            | ErrorCode::NotFound
            | ErrorCode::Conflict
            | ErrorCode::MethodError
    )
}

impl ImportStep<'_> {
    async fn keep_key(&mut self, key: &ImportedKey) -> Result<(), ClientError> {
        let params = ModelKeepKeyParams {
            provider: key.provider.clone(),
            key: key.key.expose().to_owned(),
        };
        let what = format!("the key of {} in {}", key.provider, key.found_in);
        match refusal(self.client.call_with_retry::<KeepKey>(&params).await)? {
            Ok(kept) => match kept.outcome {
                KeepKeyOutcome::Kept => self.report.keys.count(true),
                KeepKeyOutcome::Present => self.report.keys.count(false),
                KeepKeyOutcome::Different => {
                    let reason = "hob keeps another key of this provider, which stays";
                    self.report.skip(what, reason);
                }
            },
            Err(error) => self.report.skip(what, error.message),
        }
        Ok(())
    }

    async fn set_default_model(&mut self, model: &str) -> Result<(), ClientError> {
        let what = format!("the model {model}");
        let current = self.setting(DEFAULT_MODEL).await?;
        let models = current.as_ref().and_then(|it| it.value.as_array());
        if let Some(models) = models.filter(|models| !models.is_empty()) {
            if models.iter().any(|known| known == model) {
                self.report.settings.count(false);
            } else {
                self.report
                    .skip(what, "hob has a default model, which stays");
            }
            return Ok(());
        }
        let params = ModelSetParams {
            alias: DEFAULT_ALIAS.to_owned(),
            models: vec![model.to_owned()],
        };
        match refusal(self.client.call_with_retry::<ModelSet>(&params).await)? {
            Ok(_) => self.report.settings.count(true),
            Err(error) => self.report.skip(what, error.message),
        }
        Ok(())
    }

    async fn set(&mut self, setting: &ImportedSetting) -> Result<(), ClientError> {
        let what = format!("the setting {}", setting.key);
        let current = self.setting(&setting.key).await?;
        let value = match value_to_set(setting, current.as_ref()) {
            Ok(value) => value,
            Err(SettingStays::Same) => {
                self.report.settings.count(false);
                return Ok(());
            }
            Err(SettingStays::Other) => {
                self.report.skip(what, "it is set already, and stays");
                return Ok(());
            }
        };
        let params = ConfigSetParams {
            key: setting.key.clone(),
            value,
        };
        match refusal(self.client.call_with_retry::<ConfigSet>(&params).await)? {
            Ok(_) => self.report.settings.count(true),
            Err(error) => self.report.skip(what, error.message),
        }
        Ok(())
    }

    async fn setting(&self, key: &str) -> Result<Option<ConfigSetting>, ClientError> {
        let params = ConfigGetParams {
            key: Some(key.to_owned()),
        };
        let found = refusal(self.client.call_with_retry::<ConfigGet>(&params).await)?;
        let settings = found.map(|found| found.settings).unwrap_or_default();
        Ok(settings.into_iter().find(|setting| setting.key == key))
    }

    async fn add_job(&mut self, job: &ImportedJob, enabled: bool) -> Result<(), ClientError> {
        let origin = format!("imported from {}", self.system);
        let description = match job.description.as_str() {
            "" => origin,
            text => format!("{text} ({origin})"),
        };
        let params = CronAddParams {
            name: job.name.clone(),
            schedule: job.schedule.clone(),
            task: Some(job.task.clone()),
            zone: job.zone.clone(),
            active_hours: job.active_hours.clone(),
            description: Some(description),
            enabled: Some(enabled),
            ..CronAddParams::default()
        };
        match refusal(self.client.call_with_retry::<CronAdd>(&params).await)? {
            Ok(_) => {
                self.report.jobs.count(true);
                if !enabled {
                    self.report.disabled_jobs.push(job.name.clone());
                }
            }
            // Its name is taken, by an earlier import or by a person.
            Err(error) if error.code == ErrorCode::Conflict => self.report.jobs.count(false),
            Err(error) => self.report.skip(format!("job {}", job.name), error.message),
        }
        Ok(())
    }

    async fn create_loop(&mut self, imported: &ImportedLoop) -> Result<(), ClientError> {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        // The loop and its memories are one write.
        let mut params = LoopCreateParams {
            name: imported.name.clone(),
            config: imported.config.clone(),
            persistent: text(&imported.persistent),
            working: text(&imported.working),
        };
        let what = format!("loop {}", imported.name);
        let mut created = refusal(self.client.call_with_retry::<LoopCreate>(&params).await)?;
        if let Err(error) = &created
            && error
                .details
                .as_ref()
                .is_some_and(|it| it["reason"] == UNKNOWN_MODEL)
        {
            self.report
                .skip(format!("{what}: its model"), error.message.clone());
            params.config.model = None;
            created = refusal(self.client.call_with_retry::<LoopCreate>(&params).await)?;
        }
        match created {
            Ok(_) => self.report.loops.count(true),
            Err(error) if error.code == ErrorCode::Conflict => self.report.loops.count(false),
            Err(error) => self.report.skip(what, error.message),
        }
        Ok(())
    }

    fn write_persona(&mut self, persona: &ImportedPersona, file: &Path) {
        match std::fs::read(file) {
            Ok(text) if text == persona.text.as_bytes() => {
                return self.report.persona.count(false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Whatever it is, it is the person's own.
            Ok(_) | Err(_) => {
                let reason = format!("hob has a persona already, which stays: {}", file.display());
                return self.report.skip(persona.found_in.clone(), reason);
            }
        }
        match atomic_file::replace(file, persona.text.as_bytes()) {
            Ok(()) => self.report.persona.count(true),
            Err(error) => {
                let reason = format!("'{}' cannot be written: {error}", file.display());
                self.report.skip(persona.found_in.clone(), reason);
            }
        }
    }
}

/// The reason why a setting is not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingStays {
    Same,
    Other,
}

/// The value to set. A list gets what it lacks, in front; another setting is changed only if nobody
/// set it.
fn value_to_set(
    setting: &ImportedSetting,
    current: Option<&ConfigSetting>,
) -> Result<Value, SettingStays> {
    let Some(current) = current else {
        return Ok(setting.value.clone());
    };
    if current.value == setting.value {
        return Err(SettingStays::Same);
    }
    if let (Some(wanted), Some(there)) = (setting.value.as_array(), current.value.as_array())
        && current.origin != ConfigOrigin::Env
    {
        let missing: Vec<Value> = wanted
            .iter()
            .filter(|one| !there.contains(one))
            .cloned()
            .collect();
        return match &missing[..] {
            [] => Err(SettingStays::Same),
            missing => Ok(json!([missing, there].concat())),
        };
    }
    match current.origin {
        ConfigOrigin::Default => Ok(setting.value.clone()),
        ConfigOrigin::File | ConfigOrigin::Env => Err(SettingStays::Other),
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
