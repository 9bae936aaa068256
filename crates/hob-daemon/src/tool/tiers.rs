//! Tiers of external tools. A service's own declaration is not trusted: each of its tools counts as
//! `external`, and its calls as not repeatable, until an admin sets the tier by name.
//!
//! Invariants: a tier is set for one service and one declaration, and is dropped when either
//! changes; every change is in the audit record, in the same transaction.

use super::ToolRoomContext;
use super::executor::ToolExecutor;
use super::registry::{RegisteredTool, ServiceTool, ToolOrigin};
use hob_bus::RequestContext;
use hob_store::{NewAuditEntry, ToolTierRow};
use hob_tools::schema::Schema;
use hob_wire::rooms::tool::{OutsideTool, ToolSetTierParams};
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

/// `by` of a reset that no person made.
const BY_HOUSE: &str = "tools";

/// Acts in the audit record.
const ACT_SET: &str = "tool-tier-set";
const ACT_RESET: &str = "tool-tier-reset";

/// The stored tiers at the time of an offer.
pub(super) struct StoredTiers(Vec<ToolTierRow>);

impl StoredTiers {
    pub(super) async fn read(shared: &ToolRoomContext) -> Result<StoredTiers, WireError> {
        Ok(StoredTiers(shared.deps.store.tool_tiers().await?))
    }

    /// The tier set for exactly this declaration.
    pub(super) fn find(
        &self,
        service: &str,
        name: &str,
        fingerprint: &str,
    ) -> Option<&ToolTierRow> {
        let fits = |row: &&ToolTierRow| {
            row.name == name && row.service == service && row.fingerprint == fingerprint
        };
        self.0.iter().find(fits)
    }

    /// Removes the tier of a tool that is now declared differently or by another service.
    pub(super) async fn forget_outdated(
        &self,
        shared: &ToolRoomContext,
        service: &str,
        offered: &[String],
    ) -> Result<(), WireError> {
        for row in self.0.iter().filter(|row| offered.contains(&row.name)) {
            // Without `set_by` the offered tool no longer matches the stored tier.
            let holds = shared.registry.find(&row.name).is_some_and(
                |tool| matches!(&tool.origin, ToolOrigin::Service(of) if of.set_by.is_some()),
            );
            if !holds {
                let entry = tier_entry(ACT_RESET, BY_HOUSE, row, service);
                shared.deps.store.remove_tool_tier(&row.name, entry).await?;
                tracing::warn!(
                    tool = row.name,
                    service,
                    "the tool is declared differently now and counts as external again"
                );
            }
        }
        Ok(())
    }
}

/// Builds the tool with the stored tier and its declared idempotency, or as external and not
/// repeatable.
pub(super) fn effective_tool(
    declared: ToolSpec,
    schema: Schema,
    origin: ServiceTool,
    set: Option<&ToolTierRow>,
) -> RegisteredTool {
    let (tier, effect, set_by) = match set {
        Some(row) => (row.tier, origin.declared_effect, Some(row.set_by.clone())),
        None => (Tier::External, Idempotency::Opaque, None),
    };
    let spec = ToolSpec {
        tier,
        effect,
        ..declared
    };
    RegisteredTool::new(
        spec,
        schema,
        ToolOrigin::Service(ServiceTool { set_by, ..origin }),
    )
}

/// Sets or resets the tier of a currently offered tool.
pub(super) async fn set_tier(
    executor: &ToolExecutor,
    call: RequestContext,
    params: ToolSetTierParams,
) -> Result<OutsideTool, WireError> {
    let (shared, by) = (&executor.shared, call.caller.as_str());
    if params.tier.is_some() == params.reset {
        let message = "Name the tier (read, write, exec or external), or `reset` to take it back.";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    let _lock = shared.tiers_lock.lock().await;
    let former = shared.registry.find(&params.name);
    // An alias is not accepted: the tier is stored under the tool's own name.
    let former = former.filter(|tool| tool.spec.name == params.name);
    let Some(former) = former else {
        let name: String = params.name.chars().take(64).collect();
        let message = format!(
            "No tool '{name}' is offered now. A tier is set while its service is connected, by the tool's own name."
        );
        return Err(WireError::new(ErrorCode::NotFound, message));
    };
    let ToolOrigin::Service(origin) = &former.origin else {
        let message = format!(
            "'{}' is a built-in tool; its tier is fixed. To narrow it, add a rule: `hob permission add`.",
            params.name
        );
        return Err(WireError::new(ErrorCode::Conflict, message));
    };
    let row = ToolTierRow {
        name: params.name.clone(),
        service: origin.service.clone(),
        fingerprint: origin.declared_fingerprint.clone(),
        tier: params.tier.unwrap_or(Tier::External),
        set_by: by.to_owned(),
    };
    // The store comes first: after a crash the next offer applies the stored tier.
    if params.reset {
        let entry = tier_entry(ACT_RESET, by, &row, &origin.service);
        shared.deps.store.remove_tool_tier(&row.name, entry).await?;
    } else {
        let entry = tier_entry(ACT_SET, by, &row, &origin.service);
        shared.deps.store.set_tool_tier(row.clone(), entry).await?;
    }
    // The schema compiled when the tool was offered.
    let schema = Schema::of_arguments(&former.spec.parameters)
        .map_err(|mismatch| WireError::new(ErrorCode::Internal, mismatch.to_string()))?;
    let tool = effective_tool(
        former.spec.clone(),
        schema,
        origin.clone(),
        (!params.reset).then_some(&row),
    );
    let view = match &tool.origin {
        ToolOrigin::Service(service) => service.outside_view(&tool.spec),
        ToolOrigin::Builtin(_) => origin.outside_view(&tool.spec),
    };
    // A tool that disappeared meanwhile gets its tier when it is offered again.
    shared.registry.replace(&former, tool);
    Ok(view)
}

fn tier_entry(act: &'static str, by: &str, row: &ToolTierRow, service: &str) -> NewAuditEntry {
    let tier = if act == ACT_RESET {
        Tier::External
    } else {
        row.tier
    };
    let matter = json!({
        "service": service,
        "tier": tier.name(),
        "declaration": row.fingerprint,
    });
    NewAuditEntry {
        act,
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some(row.name.clone()),
        matter,
    }
}
