//! Calls of tools that an external service runs.

use super::executor::{STOP_GRACE, ToolExecutor, stopped_error, timed_out};
use super::in_flight_calls::{CallKey, call_key};
use super::registry::{RegisteredTool, ServiceTool};
use bytes::Bytes;
use hob_core::permission::PreparedCall;
use hob_tools::outcome::failed;
use hob_wire::rooms::tool::{ToolCancelParams, ToolExecuteParams, ToolExecuteResult};
use hob_wire::work::Idempotency;
use hob_wire::{ErrorCode, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

impl ToolExecutor {
    pub(super) async fn run_in_service(
        &self,
        tool: &RegisteredTool,
        service: &ServiceTool,
        work: PreparedCall,
        stop: &CancellationToken,
    ) -> Result<ToolExecuteResult, WireError> {
        let limit = Duration::from_millis(self.timeout_ms(&tool.spec));
        let key = call_key(&work.context);
        let asked = ToolExecuteParams {
            name: tool.spec.name.clone(),
            args: work.args,
            context: work.context,
            ticket: None,
        };
        let method = format!("{}.tool_execute", service.service);
        // Pinned, so that it can still be awaited after the cancel.
        let mut running = Box::pin(self.call_service::<_, ToolExecuteResult>(&method, &asked));
        let (answer, result) = tokio::select! {
            answer = &mut running => (Some(answer), None),
            () = sleep(limit) => (None, Some(timed_out(&tool.spec, limit))),
            () = stop.cancelled() => (None, Some(Err(stopped_error()))),
        };
        if let Some(answer) = answer {
            return interpret_answer(tool, answer);
        }
        // The service is asked to cancel, and may still return a partial result.
        let grace = async {
            // A service without a cancel method is abandoned: its late answer is dropped.
            if service.can_cancel {
                self.cancel_in_service(&service.service, key).await;
                return Some(running.await);
            }
            None
        };
        match (timeout(STOP_GRACE, grace).await, result) {
            (Ok(Some(answer)), _) => interpret_answer(tool, answer),
            (_, Some(result)) => result,
            (_, None) => Err(stopped_error()),
        }
    }

    async fn cancel_in_service(&self, service: &str, key: Option<CallKey>) {
        let Some((run_id, call_id)) = key else {
            return;
        };
        let params = ToolCancelParams { run_id, call_id };
        let method = format!("{service}.tool_cancel");
        let cancel = self.call_service::<_, serde_json::Value>(&method, &params);
        if let Err(error) = cancel.await {
            tracing::debug!(service, "a call could not be cancelled: {error}");
        }
    }

    pub(super) async fn call_service<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<R, WireError> {
        let odd = |error: serde_json::Error| {
            let message = format!("the answer of '{method}' is not of its form: {error}");
            WireError::new(ErrorCode::MethodError, message)
        };
        let params = serde_json::to_vec(params).map_err(odd)?;
        let params = Some(Bytes::from(params));
        let answer = self.shared.caller.call_raw(method, params, None).await?;
        // A service without a result sends no payload.
        serde_json::from_slice(answer.as_deref().unwrap_or(b"null")).map_err(odd)
    }
}

/// Interprets a service's answer.
fn interpret_answer(
    tool: &RegisteredTool,
    answer: Result<ToolExecuteResult, WireError>,
) -> Result<ToolExecuteResult, WireError> {
    match answer {
        Ok(executed) => Ok(executed),
        Err(error) if error.code == ErrorCode::ServiceUnavailable => {
            let name = &tool.spec.name;
            let message = format!(
                "The service of '{name}' disconnected during the call; it is not known if the call took effect."
            );
            Err(WireError::new(ErrorCode::ServiceUnavailable, message))
        }
        // A read-only call simply failed. Of any other call it is unknown if it took effect.
        Err(error) if error.code == ErrorCode::Timeout && tool.spec.effect != Idempotency::Pure => {
            let name = &tool.spec.name;
            let message = format!(
                "The service of '{name}' did not answer; it is not known if the call took effect."
            );
            Err(WireError::new(ErrorCode::Timeout, message))
        }
        Err(error) => Ok(failed(format!(
            "'{}' failed: {}",
            tool.spec.name, error.message
        ))),
    }
}
