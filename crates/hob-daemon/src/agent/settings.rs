//! What a person may choose about runs and money.

use hob_core::failover::RetryPolicy;
use hob_core::turn::Limits;
use hob_kit::settings::{Key, Kind, Settings};
use hob_store::Ceilings;

/// A dollar in the unit that money is kept in.
const DOLLAR: u64 = 1_000_000;
/// The most money a setting can name: a million dollars.
const MONEY_MAX: u64 = 1_000_000 * DOLLAR;

const MONEY: Kind = Kind::Checked {
    expects: "dollars such as \"2.50\", or \"none\"",
    check: |text| money(text).map(|_| ()),
};

pub const KEYS: &[Key] = &[
    Key::new(
        "agent.concurrency",
        Kind::Integer { min: 1, max: 1_024 },
        "8",
        "Runs at work at once, and as many again in each generation of runs that they start. The others wait for their turn; a run that waits for a person counts for nothing.",
    ),
    Key::new(
        "agent.queue_max",
        Kind::Integer {
            min: 1,
            max: 10_000,
        },
        "100",
        "Runs that may wait behind the present one of a session. One more is refused.",
    )
    .live(),
    Key::new(
        "agent.workspaces",
        Kind::List,
        "",
        "Folders, by their whole paths, that a model may read for tokens without the scope `control`, with all below them. A token may have others of its own (`hob token create --workspace`); without either it has none.",
    )
    .live(),
    Key::new(
        "agent.steps",
        Kind::Integer {
            min: 1,
            max: 10_000,
        },
        "50",
        "Model calls of one run, unless its caller says otherwise.",
    )
    .live(),
    Key::new(
        "agent.tokens",
        Kind::Integer {
            min: 1_000,
            max: 1_000_000_000,
        },
        "1000000",
        "Tokens in and out of one run, unless its caller says otherwise.",
    )
    .live(),
    Key::new(
        "agent.money",
        MONEY,
        "5",
        "Dollars one run may cost, unless its caller says otherwise.",
    )
    .live(),
    Key::new(
        "agent.wall_time",
        Kind::Duration {
            min_ms: 1_000,
            max_ms: 30 * 24 * 3_600_000,
        },
        "1h",
        "How long one run may take, unless its caller says otherwise.",
    )
    .live(),
    Key::new(
        "agent.error_streak",
        Kind::Integer { min: 1, max: 1_000 },
        "8",
        "Failed or denied tool calls in a row that end a run.",
    )
    .live(),
    Key::new(
        "agent.repeats",
        Kind::Integer { min: 1, max: 1_000 },
        "4",
        "How often in a row a model may ask for the very same call.",
    )
    .live(),
    Key::new(
        "agent.retry_tries",
        Kind::Integer { min: 1, max: 20 },
        "3",
        "Tries of one model before the next of the list is asked.",
    )
    .live(),
    Key::new(
        "agent.retry_wait",
        Kind::Duration {
            min_ms: 1,
            max_ms: 60_000,
        },
        "500ms",
        "The first wait before a model is tried again; it doubles from try to try.",
    )
    .live(),
    Key::new(
        "agent.retry_after_max",
        Kind::Duration {
            min_ms: 0,
            max_ms: 3_600_000,
        },
        "60s",
        "A provider that asks for a longer wait than this is passed over.",
    )
    .live(),
    Key::new(
        "cost.session_max",
        MONEY,
        "none",
        "Dollars one session may cost. A run that would go beyond pauses and asks; one of a loop or a job ends.",
    )
    .live(),
    Key::new(
        "cost.day_max",
        MONEY,
        "none",
        "Dollars all runs of a day (UTC) may cost. A run that would go beyond pauses and asks; one of a loop or a job ends.",
    )
    .live(),
    Key::new(
        "cost.total_max",
        MONEY,
        "none",
        "Dollars everything together may ever cost. A run that would go beyond pauses and asks; one of a loop or a job ends.",
    )
    .live(),
];

/// The bounds of a run whose caller says nothing.
pub(crate) fn limits(settings: &Settings) -> Limits {
    let number = |path| u32::try_from(settings.u64(path)).unwrap_or(u32::MAX);
    Limits {
        steps: number("agent.steps"),
        tokens: settings.u64("agent.tokens"),
        micro_dollars: set_money(settings, "agent.money").unwrap_or(u64::MAX),
        wall_ms: settings.duration_ms("agent.wall_time"),
        error_streak: number("agent.error_streak"),
        repeats: number("agent.repeats"),
        ..Limits::DEFAULT
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

/// What may be spent beyond one run's own budget.
pub(crate) fn ceilings(settings: &Settings) -> Ceilings {
    Ceilings {
        session: set_money(settings, "cost.session_max"),
        day: set_money(settings, "cost.day_max"),
        total: set_money(settings, "cost.total_max"),
    }
}

fn set_money(settings: &Settings, path: &str) -> Option<u64> {
    // What is set was checked when it was set.
    money(settings.text(path)).unwrap_or(None)
}

/// Reads dollars with up to six decimals into millionths; `none` is no bound.
fn money(text: &str) -> Result<Option<u64>, String> {
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
        .checked_mul(DOLLAR)
        .and_then(|sum| sum.checked_add(micro));
    sum.filter(|sum| *sum <= MONEY_MAX)
        .map(Some)
        .ok_or_else(refused)
}

/// Millionths of a dollar as a person reads them.
pub(crate) fn dollars(micro_dollars: u64) -> String {
    let (whole, part) = (micro_dollars / DOLLAR, micro_dollars % DOLLAR);
    let part = format!("{part:06}");
    let cents = part.trim_end_matches('0');
    format!("${whole}.{cents:0<2}")
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
