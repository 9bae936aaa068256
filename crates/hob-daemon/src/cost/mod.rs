//! `cost.*`: costs of model calls, summed from the ledger.

use hob_bus::Room;
use hob_kit::clock::Clock;
use hob_models::price;
use hob_store::Store;
use hob_wire::WireError;
use hob_wire::rooms::cost::{CostSummary, CostSummaryParams, Summary};

/// The service `costs`.
pub fn room(store: Store, clock: Clock) -> Room {
    Room::new("costs").method::<Summary, _, _>(move |_, params| {
        let (store, now_ms) = (store.clone(), clock.wall_ms());
        async move { summary(&store, params, now_ms).await }
    })
}

async fn summary(
    store: &Store,
    params: CostSummaryParams,
    now_ms: u64,
) -> Result<CostSummary, WireError> {
    let costs = store.cost_summary(params, now_ms).await?;
    Ok(CostSummary {
        total: costs.total,
        days: costs.days,
        models: costs.models,
        prices_as_of: price::AS_OF.to_owned(),
    })
}
