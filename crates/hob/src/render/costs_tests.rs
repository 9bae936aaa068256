//! The ledger's sums at 80 columns.

use super::*;
use hob_wire::rooms::agent::Cost;

fn row(name: &str, micro_dollars: Option<u64>, calls: u32, unpriced: u32) -> CostRow {
    CostRow {
        name: name.to_owned(),
        cost: Cost {
            micro_dollars,
            input_tokens: u64::from(calls) * 1_000,
            output_tokens: u64::from(calls) * 10,
            calls,
        },
        unpriced,
    }
}

fn summary(days: Vec<CostRow>, models: Vec<CostRow>) -> CostSummary {
    let calls = models.iter().map(|row| row.cost.calls).sum();
    let known = models.iter().filter_map(|row| row.cost.micro_dollars);
    let known: Vec<u64> = known.collect();
    let micro = (!known.is_empty()).then(|| known.iter().sum());
    CostSummary {
        total: row("", micro, calls, 0).cost,
        days,
        models,
        prices_as_of: "2026-11-01".to_owned(),
    }
}

fn drawn(summary: &CostSummary) -> String {
    lines(summary, &ScreenStyle::plain(0)).join("\n")
}

#[test]
fn days_models_and_a_bar_a_day() {
    let days = vec![
        row("2026-11-10", Some(1_000_000), 2, 0),
        row("2026-11-12", Some(8_000_000), 9, 1),
        row("2026-11-13", Some(4_100_000), 4, 0),
        row("2026-11-14", None, 1, 1),
        row("2026-11-15", Some(12), 1, 0),
    ];
    let models = vec![
        row("anthropic/claude-sonnet-4-5", Some(13_100_012), 15, 0),
        row("local/qwen", None, 2, 2),
    ];
    let text = drawn(&summary(days, models));
    assert!(text.starts_with("Dollars a day  ▁·█▅?▁"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn without_any_price_the_bars_are_tokens_and_no_money_is_claimed() {
    let days = vec![row("2026-11-14", None, 1, 1), row("2026-11-15", None, 4, 4)];
    let models = vec![row("local/qwen", None, 5, 5)];
    let text = drawn(&summary(days, models));
    assert!(text.starts_with("Tokens a day  ▂█"), "{text}");
    assert!(text.contains("not known") && !text.contains('$'), "{text}");
}

#[test]
fn a_time_without_calls_says_so() {
    let text = drawn(&summary(Vec::new(), Vec::new()));
    assert_eq!(text, "No model was called in this time.");
}
