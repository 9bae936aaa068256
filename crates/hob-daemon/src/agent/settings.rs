//! Settings of runs and budgets.

use hob_core::failover::RetryPolicy;
use hob_core::turn::RunLimits;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_store::SpendingCeilings;

/// Micro-dollars of one dollar, the unit of all stored amounts.
const MICRO_PER_DOLLAR: u64 = 1_000_000;
/// The largest amount of a setting: a million dollars.
const MONEY_MAX: u64 = 1_000_000 * MICRO_PER_DOLLAR;

const MONEY: SettingKind = SettingKind::Checked {
    expects: "dollars such as \"2.50\", or \"none\"",
    check: |text| parse_money(text).map(|_| ()),
};

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "agent.concurrency",
        SettingKind::Integer { min: 1, max: 1_024 },
        "8",
        "Runs at work at once, and as many again in each generation of runs that they start. The others wait for their turn; a run that waits for a person counts for nothing.",
    ),
    SettingKey::new(
        "agent.queue_max",
        SettingKind::Integer {
            min: 1,
            max: 10_000,
        },
        "100",
        "Runs that may wait behind the present one of a session. One more is refused.",
    )
    .live(),
    SettingKey::new(
        "agent.workspaces",
        SettingKind::List,
        "",
        "Folders, by their whole paths, that a model may read for tokens without the scope `control`, with all below them. A token may have others of its own (`hob token create --workspace`); without either it has none.",
    )
    .live(),
    SettingKey::new(
        "agent.steps",
        SettingKind::Integer {
            min: 1,
            max: 10_000,
        },
        "50",
        "Model calls of one run, unless its caller says otherwise.",
    )
    .live(),
    SettingKey::new(
        "agent.tokens",
        SettingKind::Integer {
            min: 1_000,
            max: 1_000_000_000,
        },
        "1000000",
        "Tokens in and out of one run, unless its caller says otherwise.",
    )
    .live(),
    SettingKey::new(
        "agent.money",
        MONEY,
        "5",
        "Dollars one run may cost, unless its caller says otherwise.",
    )
    .live(),
    SettingKey::new(
        "agent.wall_time",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 30 * 24 * 3_600_000,
        },
        "1h",
        "How long one run may take, unless its caller says otherwise.",
    )
    .live(),
    SettingKey::new(
        "agent.error_streak",
        SettingKind::Integer { min: 1, max: 1_000 },
        "8",
        "Failed or denied tool calls in a row that end a run.",
    )
    .live(),
    SettingKey::new(
        "agent.repeats",
        SettingKind::Integer { min: 1, max: 1_000 },
        "4",
        "How often in a row a model may ask for the very same call.",
    )
    .live(),
    SettingKey::new(
        "agent.retry_tries",
        SettingKind::Integer { min: 1, max: 20 },
        "3",
        "Tries of one model before the next of the list is asked.",
    )
    .live(),
    SettingKey::new(
        "agent.retry_wait",
        SettingKind::Duration {
            min_ms: 1,
            max_ms: 60_000,
        },
        "500ms",
        "The first wait before a model is tried again; it doubles from try to try.",
    )
    .live(),
    SettingKey::new(
        "agent.retry_after_max",
        SettingKind::Duration {
            min_ms: 0,
            max_ms: 3_600_000,
        },
        "60s",
        "A provider that asks for a longer wait than this is passed over.",
    )
    .live(),
    SettingKey::new(
        "cost.session_max",
        MONEY,
        "none",
        "Dollars one session may cost. A run that would go beyond pauses and asks; one of a loop or a job ends.",
    )
    .live(),
    SettingKey::new(
        "cost.day_max",
        MONEY,
        "none",
        "Dollars all runs of a day (UTC) may cost. A run that would go beyond pauses and asks; one of a loop or a job ends.",
    )
    .live(),
    SettingKey::new(
        "cost.total_max",
        MONEY,
        "none",
        "Dollars everything together may ever cost. A run that would go beyond pauses and asks; one of a loop or a job ends.",
    )
    .live(),
];

/// The limits of a run whose caller gives none.
pub(crate) fn limits(settings: &Settings) -> RunLimits {
    let number = |path| u32::try_from(settings.u64(path)).unwrap_or(u32::MAX);
    RunLimits {
        steps: number("agent.steps"),
        tokens: settings.u64("agent.tokens"),
        micro_dollars: money_setting(settings, "agent.money").unwrap_or(u64::MAX),
        wall_ms: settings.duration_ms("agent.wall_time"),
        error_streak: number("agent.error_streak"),
        repeats: number("agent.repeats"),
        ..RunLimits::DEFAULT
    }
}

pub(crate) fn retry_policy(settings: &Settings) -> RetryPolicy {
    RetryPolicy {
        tries: u32::try_from(settings.u64("agent.retry_tries")).unwrap_or(u32::MAX),
        base_ms: settings.duration_ms("agent.retry_wait"),
        retry_after_ms_max: settings.duration_ms("agent.retry_after_max"),
        ..RetryPolicy::DEFAULT
    }
}

/// Budgets of a session, a day and in total.
pub(crate) fn ceilings(settings: &Settings) -> SpendingCeilings {
    SpendingCeilings {
        session: money_setting(settings, "cost.session_max"),
        day: money_setting(settings, "cost.day_max"),
        total: money_setting(settings, "cost.total_max"),
    }
}

fn money_setting(settings: &Settings, path: &str) -> Option<u64> {
    // Settings were checked when they were set.
    parse_money(settings.text(path)).unwrap_or(None)
}

/// Parses dollars with up to six decimals into micro-dollars; `none` means no limit.
fn parse_money(text: &str) -> Result<Option<u64>, String> {
    let refused = || format!("it takes dollars such as \"2.50\", or \"none\", not {text:?}");
    let text = text.trim();
    if text == "none" {
        return Ok(None);
    }
    let plain = text.strip_prefix('$').unwrap_or(text);
    let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 6 || !digits(whole) || !digits(part) {
        return Err(refused());
    }
    let micro = format!("{part:0<6}")
        .parse::<u64>()
        .map_err(|_| refused())?;
    let dollars = whole.parse::<u64>().map_err(|_| refused())?;
    let sum = dollars
        .checked_mul(MICRO_PER_DOLLAR)
        .and_then(|sum| sum.checked_add(micro));
    sum.filter(|sum| *sum <= MONEY_MAX)
        .map(Some)
        .ok_or_else(refused)
}

/// Formats micro-dollars for people.
pub(crate) fn format_dollars(micro_dollars: u64) -> String {
    let (whole, part) = (
        micro_dollars / MICRO_PER_DOLLAR,
        micro_dollars % MICRO_PER_DOLLAR,
    );
    let part = format!("{part:06}");
    let cents = part.trim_end_matches('0');
    format!("${whole}.{cents:0<2}")
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
