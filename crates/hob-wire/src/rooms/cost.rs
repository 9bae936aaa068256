//! `cost.*`: the cost of model calls, from the ledger. Money is in millionths of a dollar. An
//! unknown price is missing, never zero.

use crate::method::{CliExposure, methods};
use crate::rooms::agent::Cost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "costs";
    /// Sums the ledger by day and model.
    Summary = "cost.summary" {
        params: CostSummaryParams, result: CostSummary, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostSummaryParams {
    /// The number of days, counted back from today; 30 when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
    /// Only this session, by key or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostSummary {
    pub total: Cost,
    pub days: Vec<CostRow>,
    pub models: Vec<CostRow>,
    /// The date of the price table.
    pub prices_as_of: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CostRow {
    /// A date such as `2026-11-15`, or a model id.
    pub name: String,
    /// The known cost. The money is missing only if no call has a known price.
    pub cost: Cost,
    /// Calls with an unknown price.
    #[serde(default)]
    pub unpriced: u32,
}
