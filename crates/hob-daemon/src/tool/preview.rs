//! Previews of calls before they run, and probes of calls after a crash.

use super::executor::{ToolExecutor, check_arguments, work_of};
use super::masking::{mask_previewed, mask_probed};
use super::registry::{RegisteredTool, ToolOrigin};
use hob_core::permission::PreparedCall;
use hob_tools::ToolEntry;
use hob_tools::outcome::bounded;
use hob_wire::rooms::tool::{ToolExecuteParams, ToolPreviewResult, ToolProbeResult};
use hob_wire::{ErrorCode, WireError};
use std::time::Duration;
use tokio::time::timeout;

/// Time for a tool to find out if a call happened.
const PROBE_WAIT: Duration = Duration::from_secs(30);

impl ToolExecutor {
    /// Asks a tool if an earlier call happened.
    pub(super) async fn probe(
        &self,
        params: ToolExecuteParams,
    ) -> Result<ToolProbeResult, WireError> {
        let outcome = self.probe_outcome(params).await;
        Ok(mask_probed(outcome, &self.shared.deps.mask))
    }

    async fn probe_outcome(&self, params: ToolExecuteParams) -> ToolProbeResult {
        let unknown = |known: String| ToolProbeResult::Unknown { known };
        // After a restart the service may not be back yet.
        let Some(tool) = self.wait_for_return(&params.name).await else {
            return unknown(format!(
                "The tool '{}' is no longer available.",
                params.name
            ));
        };
        let service = match &tool.origin {
            ToolOrigin::Service(service) => service,
            ToolOrigin::Builtin(entry) => return self.probe_builtin(&tool, entry, params).await,
        };
        if !service.can_probe {
            return unknown(format!(
                "'{}' cannot report if an earlier call happened.",
                params.name
            ));
        }
        let asked = ToolExecuteParams {
            name: tool.spec.name.clone(),
            ticket: None,
            ..params
        };
        let method = format!("{}.tool_probe", service.service);
        let probed = self.call_service::<_, ToolProbeResult>(&method, &asked);
        match timeout(PROBE_WAIT, probed).await {
            // A service may return an outcome of any size.
            Ok(Ok(ToolProbeResult::Yes { outcome })) => ToolProbeResult::Yes {
                outcome: bounded(outcome),
            },
            Ok(Ok(probed)) => probed,
            Ok(Err(error)) => unknown(error.message),
            Err(_) => unknown("Its service did not answer in time.".to_owned()),
        }
    }

    async fn probe_builtin(
        &self,
        tool: &RegisteredTool,
        entry: &ToolEntry,
        params: ToolExecuteParams,
    ) -> ToolProbeResult {
        let Some(hooks) = entry.effect_hooks else {
            let known = format!(
                "'{}' cannot report if an earlier call happened.",
                params.name
            );
            return ToolProbeResult::Unknown { known };
        };
        let probing = (hooks.probe)(work_of(tool, params), self.shared.tool_env.clone());
        let late = |_| ToolProbeResult::Unknown {
            known: "The disk did not answer in time.".to_owned(),
        };
        timeout(PROBE_WAIT, probing).await.unwrap_or_else(late)
    }

    /// Returns what a call would do now.
    pub(super) async fn preview(
        &self,
        params: ToolExecuteParams,
    ) -> Result<ToolPreviewResult, WireError> {
        let name = params.name.clone();
        let missing = || WireError::new(ErrorCode::NotFound, self.unknown_tool_message(&name));
        let tool = self.shared.registry.find(&name).ok_or_else(missing)?;
        let work = work_of(&tool, params);
        let refusal = self.refusal_reason(&tool, &work).await;
        let previewed = self.preview_builtin(&tool, work).await.unwrap_or_default();
        let Some(reason) = refusal else {
            return Ok(previewed);
        };
        // A rule may still allow it. Its ticket is bound to the state seen here, so that it can be
        // redeemed and the tool itself explains the refusal.
        let refused = ToolPreviewResult {
            text: None,
            cannot_run: Some(reason.clone()),
            would_fail: Some(reason),
            ..previewed
        };
        Ok(mask_previewed(refused, &self.shared.deps.mask))
    }

    /// The reason why a call can never run. Checked for every tool before a person is asked.
    async fn refusal_reason(&self, tool: &RegisteredTool, work: &PreparedCall) -> Option<String> {
        if let Err(mismatch) = check_arguments(tool, &work.args) {
            return Some(mismatch);
        }
        let ToolOrigin::Builtin(entry) = &tool.origin else {
            return None;
        };
        let (entry, spec) = (*entry, tool.spec.clone());
        let (work, tool_env) = (work.clone(), self.shared.tool_env.clone());
        // The check reads the disk, which may block.
        let checked = tokio::task::spawn_blocking(move || {
            hob_tools::refusal(&entry, &spec, &work, &tool_env)
        });
        let limit = Duration::from_millis(self.timeout_ms(&tool.spec));
        // If the disk does not answer, the call itself will report it.
        timeout(limit, checked).await.ok()?.ok()?
    }

    /// The preview of a built-in tool: what it would change.
    pub(super) async fn preview_builtin(
        &self,
        tool: &RegisteredTool,
        work: PreparedCall,
    ) -> Option<ToolPreviewResult> {
        let ToolOrigin::Builtin(entry) = &tool.origin else {
            return None;
        };
        let preview_call = entry.effect_hooks?.preview;
        let tool_env = self.shared.tool_env.clone();
        let preview = tokio::task::spawn_blocking(move || preview_call(&work, &tool_env));
        let limit = Duration::from_millis(self.timeout_ms(&tool.spec));
        let previewed = timeout(limit, preview).await.ok()?.ok()?;
        let previewed = ToolPreviewResult {
            text: Some(previewed.preview).filter(|text| !text.is_empty()),
            state: Some(previewed.state),
            would_fail: previewed.would_fail,
            cannot_run: None,
            asks_always: previewed.asks_always,
        };
        Some(mask_previewed(previewed, &self.shared.deps.mask))
    }
}
