//! Registration of tools by external services. Only a caller that may register a service may offer
//! tools for it, and only while the service is registered. Everything in an offer is checked and
//! bounded, because a model reads it. The declared tier is not trusted (`tiers`).

use super::ToolRoomContext;
use super::executor::ToolExecutor;
use super::registry::{RegisteredTool, RegistryError, ServiceTool};
use super::tiers::{self, StoredTiers};
use hob_bus::RequestContext;
use hob_core::permission::tool_fingerprint;
use hob_tools::schema::Schema;
use hob_wire::rooms::gateway::{
    GatewayInspectParams, Inspect, ServiceConnectionPayload, ServiceInfo,
};
use hob_wire::rooms::tool::{ToolOfferParams, ToolOfferResult};
use hob_wire::work::{Idempotency, ToolSpec};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most tools of one service.
const OFFERED_MAX: usize = 128;
/// Most tools of the whole registry.
const TOOLS_MAX: usize = 1_024;
const NAME_CHARS_MAX: usize = 64;
const ALIASES_MAX: usize = 8;
const NEEDS_MAX: usize = 16;
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
const APPROVAL_BYTES_MAX: usize = 512;
/// Longest timeout of a tool.
pub(super) const TIMEOUT_MS_MAX: u64 = 240_000;

/// Registers the tools of a service, replacing those it offered before.
pub(super) async fn offer(
    executor: &ToolExecutor,
    call: RequestContext,
    params: ToolOfferParams,
) -> Result<ToolOfferResult, WireError> {
    let shared = &executor.shared;
    let service = params.service.as_str();
    if !call.scopes.allow_service(service) {
        let message = format!(
            "Offering tools for '{service}' needs the scope 'admin' or 'service:{service}', which this credential lacks."
        );
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    // The connection ties the tools to this registration: they disappear with it.
    let (info, connection) = find_registered(shared, service).await?;
    let has = |method: &str| {
        let name = format!("{service}.{method}");
        info.methods.contains(&name)
    };
    if !has("tool_execute") {
        return Err(invalid(format!(
            "'{service}' must register the method '{service}.tool_execute', which runs its tools."
        )));
    }
    if params.tools.len() > OFFERED_MAX {
        return Err(invalid(format!(
            "A service may offer {OFFERED_MAX} tools at the most."
        )));
    }
    let offering = OfferingService {
        service: service.to_owned(),
        connection,
        can_cancel: has("tool_cancel"),
        can_probe: has("tool_probe"),
    };
    // A tier may be set at the same time; under the lock stored tiers and registry agree.
    let _lock = shared.tiers_lock.lock().await;
    let tiers = StoredTiers::read(shared).await?;
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for spec in params.tools {
        let tool = build_tool(spec, &offering, &tiers)?;
        for name in tool.names() {
            if !names.insert(name.to_owned()) {
                return Err(invalid(format!("The name '{name}' is offered twice.")));
            }
        }
        tools.push(tool);
    }
    let offered: Vec<String> = tools.iter().map(|tool| tool.spec.name.clone()).collect();
    shared
        .registry
        .replace_service_tools(service, tools, TOOLS_MAX)
        .map_err(registry_error)?;
    // After the registration, because the registered tool shows whether its tier still fits.
    tiers.forget_outdated(shared, service, &offered).await?;
    // The service may have disconnected before its tools were registered; that event found nothing
    // to remove.
    let still = find_registered(shared, service).await;
    if still.as_ref().is_ok_and(|(_, now)| *now == connection) {
        return Ok(ToolOfferResult { names: offered });
    }
    remove_departed_tools(shared, service).await;
    Err(WireError::new(
        ErrorCode::Conflict,
        format!("'{service}' left while it offered its tools; offer them again."),
    ))
}

/// Removes the tools of a disconnected service. If it has reconnected, tools offered over the new
/// connection stay.
pub(super) async fn service_left(executor: Arc<ToolExecutor>, left: ServiceConnectionPayload) {
    remove_departed_tools(&executor.shared, &left.service).await;
}

async fn remove_departed_tools(shared: &ToolRoomContext, service: &str) {
    let connection = match find_registered(shared, service).await {
        Ok((_, connection)) => Some(connection),
        Err(_) => None,
    };
    let now_ms = shared.deps.clock.monotonic_ms();
    shared
        .registry
        .remove_service_tools(service, connection, now_ms);
}

/// The service as registered now, with its connection.
async fn find_registered(
    shared: &ToolRoomContext,
    service: &str,
) -> Result<(ServiceInfo, u64), WireError> {
    let inspection = shared
        .caller
        .call::<Inspect>(&GatewayInspectParams {})
        .await?;
    let services = inspection.services.into_iter();
    // Several connections may have the name; at most one of them offers methods.
    let found = services
        .filter(|info| info.name == service)
        .max_by_key(|info| info.methods.len());
    let connection = found.as_ref().and_then(|info| info.connection);
    match (found, connection) {
        (Some(info), Some(connection)) if !info.builtin => Ok((info, connection)),
        (Some(_), _) => Err(WireError::new(
            ErrorCode::Forbidden,
            format!("'{service}' is a built-in service; its tools are built in."),
        )),
        (None, _) => Err(WireError::new(
            ErrorCode::Conflict,
            format!("There is no service '{service}'; call gateway.register first."),
        )),
    }
}

/// A service that offers tools, with its connection and abilities.
struct OfferingService {
    service: String,
    connection: u64,
    can_cancel: bool,
    can_probe: bool,
}

fn build_tool(
    spec: ToolSpec,
    offering: &OfferingService,
    tiers: &StoredTiers,
) -> Result<RegisteredTool, WireError> {
    check_spec(&spec, offering).map_err(|reason| {
        let name: String = spec.name.chars().take(NAME_CHARS_MAX).collect();
        invalid(format!("The tool '{name}' cannot be offered: {reason}"))
    })?;
    let schema = Schema::of_arguments(&spec.parameters).map_err(|mismatch| {
        let name = &spec.name;
        invalid(format!(
            "The schema of the tool '{name}' is unsound: {mismatch}"
        ))
    })?;
    let fingerprint = tool_fingerprint(&spec);
    let set = tiers.find(&offering.service, &spec.name, &fingerprint);
    let origin = ServiceTool {
        service: offering.service.clone(),
        connection: offering.connection,
        can_cancel: offering.can_cancel,
        can_probe: offering.can_probe,
        declared_tier: spec.tier,
        declared_effect: spec.effect,
        declared_fingerprint: fingerprint,
        set_by: None,
    };
    Ok(tiers::effective_tool(spec, schema, origin, set))
}

fn check_spec(spec: &ToolSpec, origin: &OfferingService) -> Result<(), String> {
    let plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let named = |name: &str| {
        let first = name.chars().next();
        first.is_some_and(|letter| letter.is_ascii_lowercase())
            && name.len() <= NAME_CHARS_MAX
            && name.chars().all(plain)
    };
    let aliased = |name: &String| {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        !name.is_empty() && name.len() <= NAME_CHARS_MAX && name.chars().all(allowed)
    };
    if !named(&spec.name) {
        return Err(format!(
            "a name is up to {NAME_CHARS_MAX} lower-case letters, digits and underscores, and begins with a letter."
        ));
    }
    if spec.aliases.len() > ALIASES_MAX || !spec.aliases.iter().all(aliased) {
        return Err(format!(
            "it may have {ALIASES_MAX} aliases of letters, digits, '_', '-' and '.'."
        ));
    }
    if spec.description.trim().is_empty() || spec.description.len() > DESCRIPTION_BYTES_MAX {
        return Err(format!(
            "its description must say something, in {DESCRIPTION_BYTES_MAX} bytes at the most."
        ));
    }
    if spec.approval.trim().is_empty() || spec.approval.len() > APPROVAL_BYTES_MAX {
        return Err(format!(
            "its approval must say what a person is asked, in {APPROVAL_BYTES_MAX} bytes at the most."
        ));
    }
    if spec.needs.len() > NEEDS_MAX {
        return Err(format!("it may have {NEEDS_MAX} needs."));
    }
    let declared = |arg: &str| !spec.parameters["properties"][arg].is_null();
    if let Some(need) = spec.needs.iter().find(|need| !declared(&need.arg)) {
        return Err(format!(
            "it needs '{}', which is no argument of it.",
            need.arg
        ));
    }
    if spec.effect == Idempotency::Probeable && !origin.can_probe {
        let service = &origin.service;
        return Err(format!(
            "a probeable tool needs the method '{service}.tool_probe'."
        ));
    }
    match spec.timeout_ms {
        Some(ms) if ms == 0 || ms > TIMEOUT_MS_MAX => {
            Err(format!("its timeoutMs must be from 1 to {TIMEOUT_MS_MAX}."))
        }
        _ => Ok(()),
    }
}

fn registry_error(error: RegistryError) -> WireError {
    match error {
        RegistryError::NameTaken(name) => WireError::new(
            ErrorCode::Conflict,
            format!("The name '{name}' belongs to another tool; choose another."),
        ),
        RegistryError::Full => WireError::new(
            ErrorCode::Overloaded,
            format!("There are {TOOLS_MAX} tools already."),
        ),
    }
}

fn invalid(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}
