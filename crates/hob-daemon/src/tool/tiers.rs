//! How far tools of outside services reach. What a service says of its own tools is not believed:
//! each counts as `external`, and a call of it as one that cannot be repeated, until an admin sets
//! its tier by name.
//!
//! Invariants: a set tier holds for one service and one declaration, and goes when either differs;
//! every change is in the audit record, in the transaction of the change.

use super::Shared;
use super::shelf::{Maker, ServiceTool, Tool};
use hob_store::{NewEntry, ToolTierRow};
use hob_tools::schema::Schema;
use hob_wire::rooms::tool::{OutsideTool, SetTierParams};
use hob_wire::work::{Effect, Tier, ToolSpec};
use hob_wire::{ErrorCode, WireError};
use serde_json::json;

/// Who takes back a tier that no longer fits.
const BY_HOUSE: &str = "tools";

/// The acts of the audit record.
const ACT_SET: &str = "tool-tier-set";
const ACT_RESET: &str = "tool-tier-reset";

/// The tiers that were set, as they stood when an offer came.
pub(super) struct SetTiers(Vec<ToolTierRow>);

impl SetTiers {
    pub(super) async fn read(shared: &Shared) -> Result<SetTiers, WireError> {
        Ok(SetTiers(shared.store.tool_tiers().await?))
    }

    /// What was set for this very declaration.
    pub(super) fn of(&self, service: &str, name: &str, fingerprint: &str) -> Option<&ToolTierRow> {
        let fits = |row: &&ToolTierRow| {
            row.name == name && row.service == service && row.fingerprint == fingerprint
        };
        self.0.iter().find(fits)
    }

    /// Takes back what was set for a tool that is now declared differently, or by another service.
    pub(super) async fn forget_outdated(
        &self,
        shared: &Shared,
        service: &str,
        offered: &[String],
    ) -> Result<(), WireError> {
        for row in self.0.iter().filter(|row| offered.contains(&row.name)) {
            let holds = shared.shelf.find(&row.name).is_some_and(
                |tool| matches!(&tool.maker, Maker::Service(of) if of.set_by.is_some()),
            );
            if !holds {
                let entry = entry(ACT_RESET, BY_HOUSE, row, service);
                shared.store.remove_tool_tier(&row.name, entry).await?;
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

/// A tool as it counts: with the tier that was set and the effect it declares, or as one that
/// reaches anywhere and cannot be repeated.
pub(super) fn effective(
    declared: ToolSpec,
    schema: Schema,
    maker: ServiceTool,
    set: Option<&ToolTierRow>,
) -> Tool {
    let (tier, effect, set_by) = match set {
        Some(row) => (row.tier, maker.declared_effect, Some(row.set_by.clone())),
        None => (Tier::External, Effect::Opaque, None),
    };
    let spec = ToolSpec {
        tier,
        effect,
        ..declared
    };
    Tool::new(
        spec,
        schema,
        Maker::Service(ServiceTool { set_by, ..maker }),
    )
}

/// Sets the tier of a tool that is offered now, or takes back what was set.
pub(super) async fn set(
    shared: &Shared,
    by: &str,
    params: SetTierParams,
) -> Result<OutsideTool, WireError> {
    if params.tier.is_some() == params.reset {
        let message = "Name the tier (read, write, exec or external), or `reset` to take it back.";
        return Err(WireError::new(ErrorCode::InvalidParams, message));
    }
    let _turn = shared.tiers.lock().await;
    let former = shared.shelf.find(&params.name);
    let former = former.filter(|tool| tool.spec.name == params.name);
    let Some(former) = former else {
        let name: String = params.name.chars().take(64).collect();
        let message = format!(
            "No tool '{name}' is offered now. A tier is set while its service is connected, by the tool's own name."
        );
        return Err(WireError::new(ErrorCode::NotFound, message));
    };
    let Maker::Service(maker) = &former.maker else {
        let message = format!(
            "'{}' is a tool of hob's own; what it reaches is fixed. Rules narrow it: `hob permission add`.",
            params.name
        );
        return Err(WireError::new(ErrorCode::Conflict, message));
    };
    let row = ToolTierRow {
        name: params.name.clone(),
        service: maker.service.clone(),
        fingerprint: maker.declared_fingerprint.clone(),
        tier: params.tier.unwrap_or(Tier::External),
        set_by: by.to_owned(),
    };
    if params.reset {
        let entry = entry(ACT_RESET, by, &row, &maker.service);
        shared.store.remove_tool_tier(&row.name, entry).await?;
    } else {
        let entry = entry(ACT_SET, by, &row, &maker.service);
        shared.store.set_tool_tier(row.clone(), entry).await?;
    }
    // The schema was sound when the tool was offered.
    let schema = Schema::of_arguments(&former.spec.parameters)
        .map_err(|unfit| WireError::new(ErrorCode::Internal, unfit.to_string()))?;
    let tool = effective(
        former.spec.clone(),
        schema,
        maker.clone(),
        (!params.reset).then_some(&row),
    );
    let shown = match &tool.maker {
        Maker::Service(service) => service.shown(&tool.spec),
        Maker::House(_) => maker.shown(&tool.spec),
    };
    // One that went meanwhile finds its tier when it comes back.
    shared.shelf.replace(&former, tool);
    Ok(shown)
}

fn entry(act: &'static str, by: &str, row: &ToolTierRow, service: &str) -> NewEntry {
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
    NewEntry {
        act,
        by: by.to_owned(),
        session_key: None,
        run_id: None,
        tool: Some(row.name.clone()),
        matter,
    }
}
