//! `cost.*`: costs of model calls, summed from the ledger.

use crate::RoomContext;
use hob_bus::Room;
use hob_models::price;
use hob_wire::WireError;
use hob_wire::rooms::cost::{CostSummary, CostSummaryParams, Summary};
use std::sync::Arc;

/// Serves the room `costs`.
pub fn serve(context: &RoomContext) -> Result<(), WireError> {
    let room = Room::new("costs")
        .state(Arc::new(context.clone()))
        .method(Summary, summary);
    context.bus.serve(room)
}

async fn summary(
    context: &RoomContext,
    params: CostSummaryParams,
) -> Result<CostSummary, WireError> {
    let now_ms = context.clock.wall_ms();
    let costs = context.store.cost_summary(params, now_ms).await?;
    Ok(CostSummary {
        total: costs.total,
        days: costs.days,
        models: costs.models,
        prices_as_of: price::AS_OF.to_owned(),
    })
}
