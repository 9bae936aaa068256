//! What a service outside may put on the shelf. Only whoever may register a service may offer for
//! it, and only while it is registered; everything it declares is checked and bounded, because a
//! model reads it. How far a tool reaches is not believed (`tiers`).

use super::Shared;
use super::shelf::{ServiceTool, Taken, Tool};
use super::tiers::{self, SetTiers};
use hob_bus::Call;
use hob_core::permission::fingerprint;
use hob_tools::schema::Schema;
use hob_wire::rooms::gateway::{Inspect, InspectParams, ServiceInfo};
use hob_wire::rooms::tool::{OfferParams, Offered};
use hob_wire::work::{Effect, ToolSpec};
use hob_wire::{ErrorCode, WireError};
use std::collections::BTreeSet;

/// Tools of one service.
const OFFERED_MAX: usize = 128;
/// Tools on the whole shelf.
const TOOLS_MAX: usize = 1_024;
const NAME_CHARS_MAX: usize = 64;
const ALIASES_MAX: usize = 8;
const NEEDS_MAX: usize = 16;
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
const APPROVAL_BYTES_MAX: usize = 512;
/// The longest time a tool may ask for.
pub(super) const TIMEOUT_MS_MAX: u64 = 240_000;

/// Takes the offer of a service, in the place of what it offered before.
pub(super) async fn offer(
    shared: &Shared,
    call: &Call,
    params: OfferParams,
) -> Result<Offered, WireError> {
    let service = params.service.as_str();
    if !call.scopes.allow_service(service) {
        let message = format!(
            "Offering tools for '{service}' needs the scope 'admin' or 'service:{service}', which this credential lacks."
        );
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    let (info, connection) = registered(shared, service).await?;
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
    let offering = Offering {
        service: service.to_owned(),
        connection,
        can_cancel: has("tool_cancel"),
        can_probe: has("tool_probe"),
    };
    let _turn = shared.tiers.lock().await;
    let tiers = SetTiers::read(shared).await?;
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for spec in params.tools {
        let tool = read(spec, &offering, &tiers)?;
        for name in tool.names() {
            if !names.insert(name.to_owned()) {
                return Err(invalid(format!("The name '{name}' is offered twice.")));
            }
        }
        tools.push(tool);
    }
    let offered: Vec<String> = tools.iter().map(|tool| tool.spec.name.clone()).collect();
    shared.shelf.put(service, tools, TOOLS_MAX).map_err(taken)?;
    tiers.forget_outdated(shared, service, &offered).await?;
    // It may have left meanwhile, and its leaving been heard before its tools were here.
    let still = registered(shared, service).await;
    if still.as_ref().is_ok_and(|(_, now)| *now == connection) {
        return Ok(Offered { names: offered });
    }
    left(shared, service).await;
    Err(WireError::new(
        ErrorCode::Conflict,
        format!("'{service}' left while it offered its tools; offer them again."),
    ))
}

/// Hears that a service went. It may be back already, on another connection: what it offered on
/// that one stays.
pub(super) async fn left(shared: &Shared, service: &str) {
    let connection = match registered(shared, service).await {
        Ok((_, connection)) => Some(connection),
        Err(_) => None,
    };
    let now_ms = shared.clock.monotonic_ms();
    shared.shelf.take_away(service, connection, now_ms);
}

/// The service as it is registered now, with its connection.
async fn registered(shared: &Shared, service: &str) -> Result<(ServiceInfo, u64), WireError> {
    let inspection = shared.caller.call::<Inspect>(&InspectParams {}).await?;
    let mut services = inspection.services.into_iter();
    let found = services.find(|info| info.name == service);
    let connection = found.as_ref().and_then(|info| info.connection);
    match (found, connection) {
        (Some(info), Some(connection)) if !info.builtin => Ok((info, connection)),
        (Some(_), _) => Err(WireError::new(
            ErrorCode::Forbidden,
            format!("'{service}' is a service of the house; its tools are built in."),
        )),
        (None, _) => Err(WireError::new(
            ErrorCode::Conflict,
            format!("There is no service '{service}'; call gateway.register first."),
        )),
    }
}

/// A service that offers tools, and over which connection.
struct Offering {
    service: String,
    connection: u64,
    can_cancel: bool,
    can_probe: bool,
}

fn read(spec: ToolSpec, offering: &Offering, tiers: &SetTiers) -> Result<Tool, WireError> {
    check(&spec, offering).map_err(|reason| {
        let name: String = spec.name.chars().take(NAME_CHARS_MAX).collect();
        invalid(format!("The tool '{name}' cannot be offered: {reason}"))
    })?;
    let schema = Schema::of_arguments(&spec.parameters).map_err(|unfit| {
        let name = &spec.name;
        invalid(format!(
            "The schema of the tool '{name}' is unsound: {unfit}"
        ))
    })?;
    let fingerprint = fingerprint(&spec);
    let set = tiers.of(&offering.service, &spec.name, &fingerprint);
    let maker = ServiceTool {
        service: offering.service.clone(),
        connection: offering.connection,
        can_cancel: offering.can_cancel,
        can_probe: offering.can_probe,
        declared_tier: spec.tier,
        declared_effect: spec.effect,
        declared_fingerprint: fingerprint,
        set_by: None,
    };
    Ok(tiers::effective(spec, schema, maker, set))
}

fn check(spec: &ToolSpec, maker: &Offering) -> Result<(), String> {
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
    if spec.effect == Effect::Probeable && !maker.can_probe {
        let service = &maker.service;
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

fn taken(taken: Taken) -> WireError {
    match taken {
        Taken::Name(name) => WireError::new(
            ErrorCode::Conflict,
            format!("The name '{name}' belongs to another tool; choose another."),
        ),
        Taken::Full => WireError::new(
            ErrorCode::Overloaded,
            format!("There are {TOOLS_MAX} tools already."),
        ),
    }
}

fn invalid(message: String) -> WireError {
    WireError::new(ErrorCode::InvalidParams, message)
}
