//! A `llama-server` of the person's own, for every service that is one.

use crate::found::{Found, Place};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What it is started with.
pub(crate) struct LlamaServer<'a> {
    pub(crate) service: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) model: &'a Path,
    /// What the model is called.
    pub(crate) name: &'a str,
    pub(crate) context_tokens: &'a str,
    /// What makes a model see.
    pub(crate) projector: Option<&'a Path>,
    pub(crate) modest: bool,
}

impl LlamaServer<'_> {
    pub(crate) fn found(&self, place: &Place<'_>) -> Found {
        let mut words: Vec<&OsStr> = vec![
            self.program.as_os_str(),
            "--host".as_ref(),
            "127.0.0.1".as_ref(),
            "--port".as_ref(),
            "{port}".as_ref(),
            "--ctx-size".as_ref(),
            self.context_tokens.as_ref(),
            "--jinja".as_ref(),
            "--alias".as_ref(),
            self.name.as_ref(),
        ];
        if let Some(projector) = self.projector {
            words.extend(["--mmproj".as_ref(), projector.as_os_str()]);
        }
        words.extend(["--model".as_ref(), self.model.as_os_str()]);
        Found::Command {
            argv: words.into_iter().map(OsString::from).collect(),
            env: Vec::new(),
            cwd: place.home.service(self.service),
            what: format!("{} with {}", self.program.display(), self.model.display()),
            model: Some(self.name.to_owned()),
            modest: self.modest,
        }
    }
}
