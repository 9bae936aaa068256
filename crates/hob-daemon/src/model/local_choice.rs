//! Makes a fetched model the one that `local` means, and takes that back.
//!
//! Invariant: the server of a former model is stopped, so that the next question starts the new one;
//! a server that hob did not start is only left.

use super::ModelContext;
use super::provider_changes::apply_changes;
use hob_kit::settings::SettingValue;
use hob_services::llm;
use hob_services::models::ModelPlace;
use hob_wire::WireError;
use hob_wire::rooms::service::{ServiceSelector, Stop};
use serde_json::{Value, json};
use std::path::Path;

const MODEL_KEY: &str = "llm.model";
const LOCAL_KEY: &str = "model.local";

impl ModelContext {
    /// Lets the local server run this file.
    pub(super) async fn use_file(&self, file: &Path) -> Result<(), WireError> {
        let file = file.display().to_string();
        let mut changes = vec![(MODEL_KEY.to_owned(), Value::from(file))];
        // An alias that names something else would hide the new model.
        if !self.local_alias().is_empty() {
            changes.push((LOCAL_KEY.to_owned(), Value::Null));
        }
        self.change_local(changes).await
    }

    /// Lets `local` be a model of the running Ollama.
    pub(super) async fn use_ollama(&self, model: &str) -> Result<(), WireError> {
        let id = format!("{}/{model}", llm::NAME);
        let changes = vec![
            // A file has precedence over a running server.
            (MODEL_KEY.to_owned(), Value::Null),
            (LOCAL_KEY.to_owned(), json!([id])),
        ];
        self.change_local(changes).await
    }

    /// Resets the choice if it is a file of this model. Returns true if it was.
    pub(super) async fn forget_local(&self, place: &ModelPlace) -> Result<bool, WireError> {
        if !place.contains(Path::new(&self.model_file())) {
            return Ok(false);
        }
        let changes = vec![(MODEL_KEY.to_owned(), Value::Null)];
        self.change_local(changes).await?;
        Ok(true)
    }

    /// Returns true if the local server is set to run this file.
    pub(super) fn is_used_file(&self, file: &Path) -> bool {
        Path::new(&self.model_file()) == file
    }

    fn model_file(&self) -> String {
        match self.settings().entry(MODEL_KEY).map(|entry| &entry.value) {
            Some(SettingValue::Text(file)) => file.clone(),
            _ => String::new(),
        }
    }

    fn local_alias(&self) -> Vec<String> {
        match self.settings().entry(LOCAL_KEY).map(|entry| &entry.value) {
            Some(SettingValue::List(models)) => models.clone(),
            _ => Vec::new(),
        }
    }

    async fn change_local(&self, changes: Vec<(String, Value)>) -> Result<(), WireError> {
        let (file, alias) = (self.model_file(), self.local_alias());
        apply_changes(self, changes).await?;
        if (file, alias) == (self.model_file(), self.local_alias()) {
            return Ok(());
        }
        let params = ServiceSelector {
            name: llm::NAME.to_owned(),
        };
        if let Err(error) = self.caller.call::<Stop>(&params).await {
            // The new model is used from the next start of the service on.
            tracing::warn!("the local model server was not stopped: {error}");
        }
        Ok(())
    }
}
