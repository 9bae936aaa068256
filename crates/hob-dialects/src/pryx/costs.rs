//! Costs, from the ledger. Money is in dollars; an unknown price is null, never zero.

use crate::pryx::client::{PathParameter, PryxAnswer, PryxClient, json, not_implemented};
use hob_wire::WireError;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cost::{self, CostRow, CostSummary, CostSummaryParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Days of the view by month.
const YEAR_DAYS: u32 = 366;
/// Bytes of a date that are its month: `2026-11`.
const MONTH_BYTES: usize = 7;
/// Millionths of a dollar.
const MICRO_DOLLARS: f64 = 1_000_000.0;

/// `GET /api/cost`: the last 30 days.
pub(crate) async fn list(client: PryxClient) -> PryxAnswer {
    json(&summary_json(&summary(&client, None).await?))
}

/// `GET /api/cost/{view}`.
pub(crate) async fn view(client: PryxClient, PathParameter(view): PathParameter) -> PryxAnswer {
    match view.as_str() {
        "summary" | "daily" => list(client).await,
        "monthly" => {
            let summary = summary(&client, Some(YEAR_DAYS)).await?;
            let mut answer = summary_json(&summary);
            answer["costs"] = months(&summary.days).into();
            json(&answer)
        }
        "budget" | "pricing" | "optimize" => Err(not_implemented(
            "hob shows budgets and prices elsewhere: 'hob config show cost' and 'hob model list'.",
        )),
        _ => Err(not_implemented("There is no such view of costs.")),
    }
}

async fn summary(client: &PryxClient, days: Option<u32>) -> Result<CostSummary, WireError> {
    let params = CostSummaryParams {
        days,
        session_key: None,
    };
    client.call::<cost::Summary>(&params).await
}

fn summary_json(summary: &CostSummary) -> Value {
    let days = summary.days.iter().map(|day| {
        json!({
            "date": day.name,
            // The ledger sums by day or by model; `models` has the others.
            "provider": "",
            "model": "",
            "tokens": tokens(&day.cost),
            "cost": dollars(&day.cost),
        })
    });
    let models = summary.models.iter().map(|row| {
        let (provider, model) = row.name.split_once('/').unwrap_or(("", &row.name));
        json!({
            "provider": provider,
            "model": model,
            "tokens": tokens(&row.cost),
            "cost": dollars(&row.cost),
            "unpriced_calls": row.unpriced,
        })
    });
    json!({
        "costs": days.collect::<Vec<_>>(),
        "models": models.collect::<Vec<_>>(),
        "totalCost": dollars(&summary.total),
        "totalTokens": tokens(&summary.total),
        "currency": "USD",
        "prices_as_of": summary.prices_as_of,
    })
}

/// Sums days by their month, oldest first.
fn months(days: &[CostRow]) -> Vec<Value> {
    let mut months: BTreeMap<&str, (u64, Option<u64>)> = BTreeMap::new();
    for day in days {
        let name = day.name.get(..MONTH_BYTES).unwrap_or(&day.name);
        let (sum, money) = months.entry(name).or_default();
        *sum += tokens(&day.cost);
        if let Some(cost) = day.cost.micro_dollars {
            *money = Some(money.unwrap_or(0) + cost);
        }
    }
    let months = months.into_iter().map(|(month, (tokens, micro))| {
        let cost = micro.map(micro_to_dollars);
        json!({ "date": month, "provider": "", "model": "", "tokens": tokens, "cost": cost })
    });
    months.collect()
}

fn tokens(cost: &Cost) -> u64 {
    cost.input_tokens + cost.output_tokens
}

fn dollars(cost: &Cost) -> Option<f64> {
    cost.micro_dollars.map(micro_to_dollars)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a sum that large has no cents that matter"
)]
fn micro_to_dollars(micro: u64) -> f64 {
    micro as f64 / MICRO_DOLLARS
}
