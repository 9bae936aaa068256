//! What model calls cost, by day and by model. Pure.

use super::{ListContent, ListRow};
use crate::text::{Role, count, dollars};
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::cost::{CostRow, CostSummary};

pub(super) fn content(summary: &CostSummary) -> ListContent {
    let total = CostRow {
        name: "total".to_owned(),
        cost: summary.total,
        unpriced: 0,
    };
    let mut rows = vec![row(&total, "total", Role::Heading)];
    rows.extend(summary.days.iter().map(|it| row(it, "day", Role::Plain)));
    rows.extend(
        summary
            .models
            .iter()
            .map(|it| row(it, "model", Role::Accent)),
    );
    ListContent {
        heads: vec!["DAY OR MODEL", "COST", "CALLS", "IN", "OUT"],
        rows,
        notes: vec![format!("Prices as of {}.", summary.prices_as_of)],
        empty: "",
    }
}

fn row(it: &CostRow, kind: &str, role: Role) -> ListRow {
    let cells = vec![
        (it.name.clone(), role),
        (money(&it.cost, it.unpriced), Role::Plain),
        (it.cost.calls.to_string(), Role::Quiet),
        (count(it.cost.input_tokens), Role::Quiet),
        (count(it.cost.output_tokens), Role::Quiet),
    ];
    ListRow::new(format!("{kind}/{}", it.name), cells)
}

/// The known cost; an unknown price is not zero.
fn money(cost: &Cost, unpriced: u32) -> String {
    match (cost.micro_dollars, unpriced) {
        (Some(micro), 0) => dollars(micro),
        (Some(micro), _) => format!("{} + {unpriced} unpriced", dollars(micro)),
        (None, _) if cost.calls == 0 => dollars(0),
        (None, _) => "unknown".to_owned(),
    }
}
