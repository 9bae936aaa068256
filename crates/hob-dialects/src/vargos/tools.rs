//! The methods `tool.*`.

use crate::vargos::client::VargosClient;
use crate::vargos::params::{VargosParams, invalid};
use crate::vargos::settings;
use hob_wire::WireError;
use hob_wire::rooms::tool::{
    self, ToolDescribeParams, ToolExecuteParams, ToolListParams, ToolSpec,
};
use hob_wire::work::ToolContext;
use serde_json::{Map, Value, json};

/// The tool that runs commands.
const EXEC: &str = "exec";

pub(crate) async fn list(client: &VargosClient, params: VargosParams) -> Result<Value, WireError> {
    params.finish()?;
    let listed = client
        .call::<tool::List>(&ToolListParams::default())
        .await?;
    let tools = listed.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "tier": tool.tier,
        })
    });
    Ok(Value::Array(tools.collect()))
}

/// Runs a tool. An unknown one is an error: hob's own `tool.execute` answers it with a result, for
/// a model.
pub(crate) async fn execute(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    let name = params.require_text("name")?;
    let args = params.take_object("args")?;
    let context = VargosParams::new(params.take_object("context")?);
    params.finish()?;
    let context = translate_context(context, settings::workspace(&client.settings()))?;
    let described = ToolDescribeParams { name, wait: false };
    let spec = client.call::<tool::Describe>(&described).await?;
    let call = ToolExecuteParams {
        name: described.name,
        args: Value::Object(translate_args(&spec, args, &context)),
        context,
        ticket: None,
    };
    let result = client.call::<tool::Execute>(&call).await?;
    serde_json::to_value(result).map_err(|error| invalid(error.to_string()))
}

fn translate_context(
    mut context: VargosParams,
    workspace: Option<String>,
) -> Result<ToolContext, WireError> {
    if !context.take_object("env")?.is_empty() {
        return Err(invalid(
            "`context.env` is not taken: commands run with hob's own short list of variables.",
        ));
    }
    // Objects of JavaScript that lose their meaning in JSON.
    context.take("abortSignal");
    context.take("call");
    if let Some(folder) = context.take_text("workingDir")? {
        context.set("workspace", folder);
    }
    let mut context: ToolContext = context.decode()?;
    context.workspace = context.workspace.or(workspace);
    Ok(context)
}

fn translate_args(
    spec: &ToolSpec,
    mut args: Map<String, Value>,
    context: &ToolContext,
) -> Map<String, Value> {
    // Clients that bridge other protocols pass the session among the arguments too.
    let takes = |name: &str| spec.parameters["properties"].get(name).is_some();
    let session = context.session_key.as_deref();
    if !takes("sessionKey") && args.get("sessionKey").and_then(Value::as_str) == session {
        args.remove("sessionKey");
    }
    if spec.name == EXEC
        && !args.contains_key("timeoutMs")
        && let Some(timeout) = args.remove("timeout")
    {
        args.insert("timeoutMs".to_owned(), timeout);
    }
    args
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
