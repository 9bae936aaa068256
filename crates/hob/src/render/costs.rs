//! Formats costs: a table by day, a table by model, and a sparkline of days.

use super::runs::money;
use super::table::TextTable;
use super::text::{count_noun, dollars, group_thousands, one_line};
use super::{ScreenStyle, TextTone};
use hob_wire::rooms::cost::{CostRow, CostSummary};
use jiff::civil::Date;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A day without a call.
const NOTHING: char = '·';
/// A day whose cost is unknown.
const UNKNOWN: char = '?';
/// The most days of the sparkline: they fit beside the label on 80 columns.
const DAYS_SHOWN_MAX: usize = 60;

pub fn lines(summary: &CostSummary, screen: &ScreenStyle) -> Vec<String> {
    if summary.total.calls == 0 {
        return vec!["No model was called in this time.".to_owned()];
    }
    let mut out = Vec::new();
    out.extend(trend(&summary.days, screen));
    out.push(String::new());
    out.extend(table("DAY", &summary.days, screen));
    out.push(String::new());
    out.extend(table("MODEL", &summary.models, screen));
    out.push(String::new());
    let calls = count_noun(u64::from(summary.total.calls), "call");
    let tokens = summary
        .total
        .input_tokens
        .saturating_add(summary.total.output_tokens);
    let tokens = group_thousands(tokens);
    let total = match summary.total.micro_dollars {
        Some(micro) => {
            let unpriced = unpriced(&summary.models);
            format!(
                "Total {} for {calls} and {tokens} tokens{unpriced}.",
                dollars(micro)
            )
        }
        None => format!("Total {calls} and {tokens} tokens, at prices that are not known."),
    };
    out.push(screen.paint(TextTone::Heading, &total));
    let dated = format!("Prices as of {}.", one_line(&summary.prices_as_of));
    out.push(screen.paint(TextTone::Quiet, &dated));
    out
}

fn table(heading: &str, rows: &[CostRow], screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new()
        .column(heading)
        .number("CALLS")
        .number("TOKENS IN")
        .number("TOKENS OUT")
        .number("COST");
    for row in rows {
        let cost = &row.cost;
        let mut price = money(cost);
        if row.unpriced > 0 && cost.micro_dollars.is_some() {
            price.push_str(" + unknown");
        }
        table.row(vec![
            one_line(&row.name),
            cost.calls.to_string(),
            group_thousands(cost.input_tokens),
            group_thousands(cost.output_tokens),
            price,
        ]);
    }
    table.lines(screen)
}

fn unpriced(rows: &[CostRow]) -> String {
    let calls: u64 = rows.iter().map(|row| u64::from(row.unpriced)).sum();
    if calls == 0 {
        return String::new();
    }
    format!("; the price of {} is unknown", count_noun(calls, "call"))
}

/// One bar per day from the first to the last: dollars if some are known, else tokens.
fn trend(rows: &[CostRow], screen: &ScreenStyle) -> Vec<String> {
    let days = by_date(rows);
    let (Some((first, _)), Some((last, _))) = (days.first(), days.last()) else {
        return Vec::new();
    };
    let is_money = days
        .iter()
        .any(|(_, row)| row.cost.micro_dollars.unwrap_or(0) > 0);
    let height = |row: &CostRow| {
        if is_money {
            row.cost.micro_dollars
        } else {
            Some(row.cost.input_tokens.saturating_add(row.cost.output_tokens))
        }
    };
    let highest = days
        .iter()
        .filter_map(|(_, row)| height(row))
        .max()
        .unwrap_or(0);
    let dates = first
        .series(jiff::Span::new().days(1))
        .take_while(|date| date <= last);
    let bars: Vec<char> = dates
        .map(|date| match days.iter().find(|(day, _)| *day == date) {
            Some((_, row)) => height(row).map_or(UNKNOWN, |height| bar(height, highest)),
            None => NOTHING,
        })
        .collect();
    let shown: String = bars
        .iter()
        .skip(bars.len().saturating_sub(DAYS_SHOWN_MAX))
        .collect();
    let what = if is_money {
        "Dollars a day"
    } else {
        "Tokens a day"
    };
    vec![format!("{}  {shown}", screen.paint(TextTone::Quiet, what))]
}

fn by_date(rows: &[CostRow]) -> Vec<(Date, &CostRow)> {
    let dated = rows
        .iter()
        .filter_map(|row| Some((row.name.parse().ok()?, row)));
    let mut days: Vec<(Date, &CostRow)> = dated.collect();
    days.sort_by_key(|(date, _)| *date);
    days
}

fn bar(height: u64, highest: u64) -> char {
    if height == 0 || highest == 0 {
        return BARS[0];
    }
    let steps = BARS.len() as u64;
    let index = (height.saturating_mul(steps))
        .div_ceil(highest)
        .saturating_sub(1);
    let index = usize::try_from(index).unwrap_or(0).min(BARS.len() - 1);
    BARS[index]
}

#[cfg(test)]
#[path = "costs_tests.rs"]
mod tests;
