//! The command line of a user's own `llama-server`, for all services that run one.

use crate::discovery::{DiscoveryContext, FoundService};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The parameters of a `llama-server`.
pub(crate) struct LlamaServer<'a> {
    pub(crate) service: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) model: &'a Path,
    /// The name of the model.
    pub(crate) name: &'a str,
    pub(crate) context_tokens: &'a str,
    /// The projector of a vision model.
    pub(crate) projector: Option<&'a Path>,
    pub(crate) modest: bool,
}

impl LlamaServer<'_> {
    pub(crate) fn start_command(&self, context: &DiscoveryContext<'_>) -> FoundService {
        let mut words: Vec<&OsStr> = vec![
            self.program.as_os_str(),
            "--host".as_ref(),
            // Loopback only: this server asks for no password.
            "127.0.0.1".as_ref(),
            "--port".as_ref(),
            "{port}".as_ref(),
            "--ctx-size".as_ref(),
            self.context_tokens.as_ref(),
            // The model's own chat template, which tool calls need.
            "--jinja".as_ref(),
            "--alias".as_ref(),
            self.name.as_ref(),
        ];
        if let Some(projector) = self.projector {
            words.extend(["--mmproj".as_ref(), projector.as_os_str()]);
        }
        words.extend(["--model".as_ref(), self.model.as_os_str()]);
        FoundService::Command {
            argv: words.into_iter().map(OsString::from).collect(),
            env: Vec::new(),
            cwd: context.home.service(self.service),
            what: format!("{} with {}", self.program.display(), self.model.display()),
            model: Some(self.name.to_owned()),
            modest: self.modest,
        }
    }
}
