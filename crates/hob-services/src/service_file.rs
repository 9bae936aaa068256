//! Parses `services/NAME.toml`.
//!
//! Invariant: a file with an unknown key, a wrong type or a value out of bounds is refused with the
//! key and its line, never used partially.

use crate::descriptor::{HealthProbe, PortChoice, ServiceDescriptor, ServiceKind, ServiceRestart};
use hob_wire::rooms::service::ServiceRole;
use std::collections::BTreeMap;
use std::time::Duration;
use toml_edit::{Document, Item, TableLike};

pub const NAME_CHARS_MAX: usize = 64;
/// The maximum of arguments, variables, needs or aliases.
const ITEMS_MAX: usize = 256;
/// One day: longer than any sensible wait.
const SECONDS_MAX: u64 = 24 * 3_600;
const MIB: u64 = 1024 * 1024;
/// More than any kernel limit.
const COUNT_MAX: u64 = 1 << 30;

const KEYS: &[&str] = &[
    "about",
    "aliases",
    "arch",
    "autostart",
    "command",
    "env",
    "health",
    "idle_seconds",
    "intensity",
    "kind",
    "licence",
    "limits",
    "listen",
    "needs",
    "os",
    "port",
    "ready_seconds",
    "restart",
    "role",
    "stop_seconds",
];

/// A problem in a service file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// Counted from 1; none if a key is missing.
    pub line: Option<usize>,
    pub message: String,
}

impl FileProblem {
    /// Returns a sentence with the file's name.
    pub fn display_with_file(&self, file: &str) -> String {
        match self.line {
            Some(line) => format!("{file}, line {line}: {}", self.message),
            None => format!("{file}: {}", self.message),
        }
    }
}

/// Returns true for a valid service name.
pub fn is_service_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= NAME_CHARS_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|b| inner(b) || b == b'-' || b == b'_')
}

/// Parses the text of a service file. It may name these opt-in listeners.
pub fn parse(name: &str, text: &str, listeners: &[&str]) -> Result<ServiceDescriptor, FileProblem> {
    let document = Document::parse(text).map_err(|failure| FileProblem {
        line: Some(line_number(
            text,
            failure.span().map_or(0, |span| span.start),
        )),
        message: format!(
            "this is not TOML: {}",
            failure.message().replace('\n', "; ")
        ),
    })?;
    let table = TableReader {
        text,
        items: document.as_table(),
        key_prefix: "",
    };
    table.refuse_unknown_keys(KEYS)?;
    let mut descriptor = read_basics(name, &table)?;
    read_timing(&mut descriptor, &table)?;
    read_bounds(&mut descriptor, &table)?;
    descriptor.listen = table.listeners("listen", listeners)?;
    check_consistency(&descriptor, &table)?;
    Ok(descriptor)
}

/// Reads what the service is and how it starts.
fn read_basics(name: &str, table: &TableReader<'_>) -> Result<ServiceDescriptor, FileProblem> {
    let mut descriptor = ServiceDescriptor::defaults(name);
    if let Some(about) = table.text("about")? {
        about.clone_into(&mut descriptor.about);
    }
    descriptor.kind = match table.word("kind", &["http", "process"])? {
        Some("http") => ServiceKind::Http,
        _ => ServiceKind::Process,
    };
    descriptor.role = match table.word("role", &["llm", "tts", "vlm"])? {
        Some("llm") => Some(ServiceRole::Llm),
        Some("tts") => Some(ServiceRole::Tts),
        Some("vlm") => Some(ServiceRole::Vlm),
        _ => None,
    };
    descriptor.aliases = table.names("aliases")?;
    descriptor.needs = table.names("needs")?;
    descriptor.command = table.texts("command")?;
    if descriptor.command.first().is_none_or(String::is_empty) {
        let message = "'command' names the program and its arguments, such as [\"python3\", \"-m\", \"http.server\", \"{port}\"]";
        return Err(table.problem("command", message));
    }
    descriptor.env = table.variables("env")?;
    descriptor.port = match table.number("port", 0, u64::from(u16::MAX))? {
        None => PortChoice::None,
        // As in bind(2), port 0 means a free port.
        Some(0) => PortChoice::Free,
        Some(port) => PortChoice::Fixed(u16::try_from(port).unwrap_or(u16::MAX)),
    };
    descriptor.health = table.text("health")?.map(|health| {
        if health.starts_with('/') {
            HealthProbe::Path(health.to_owned())
        } else {
            HealthProbe::Url(health.to_owned())
        }
    });
    if let Some(HealthProbe::Url(url)) = &descriptor.health
        && !url.starts_with("http://")
    {
        let message =
            "'health' is a path such as \"/health\" or an address that begins with http://";
        return Err(table.problem("health", message));
    }
    descriptor.licence = table.text("licence")?.map(str::to_owned);
    Ok(descriptor)
}

/// Reads when the service is ready, restarted and stopped.
fn read_timing(
    descriptor: &mut ServiceDescriptor,
    table: &TableReader<'_>,
) -> Result<(), FileProblem> {
    if let Some(ready) = table.seconds("ready_seconds", 1)? {
        descriptor.ready = ready;
    }
    if let Some(stop) = table.seconds("stop_seconds", 0)? {
        descriptor.stop = stop;
    }
    descriptor.idle = table.seconds("idle_seconds", 1)?;
    descriptor.restart = match table.word("restart", &["always", "on-failure", "never"])? {
        Some("always") => ServiceRestart::Always,
        Some("never") => ServiceRestart::Never,
        _ => ServiceRestart::OnFailure,
    };
    if let Some(inner) = table.table("intensity")? {
        inner.refuse_unknown_keys(&["restarts", "seconds"])?;
        if let Some(restarts) = inner.number("restarts", 0, 1_000)? {
            descriptor.intensity.restarts = u32::try_from(restarts).unwrap_or(u32::MAX);
        }
        if let Some(within) = inner.seconds("seconds", 1)? {
            descriptor.intensity.within = within;
        }
    }
    descriptor.autostart = table.flag("autostart")?;
    Ok(())
}

/// Reads the limits, listeners and platforms of the service.
fn read_bounds(
    descriptor: &mut ServiceDescriptor,
    table: &TableReader<'_>,
) -> Result<(), FileProblem> {
    if let Some(inner) = table.table("limits")? {
        inner.refuse_unknown_keys(&["processes", "open_files", "memory_mb"])?;
        descriptor.limits.processes = inner.number("processes", 1, COUNT_MAX)?;
        descriptor.limits.open_files = inner.number("open_files", 8, COUNT_MAX)?;
        let memory = inner.number("memory_mb", 1, COUNT_MAX)?;
        descriptor.limits.memory_bytes = memory.map(|count| count.saturating_mul(MIB));
    }
    descriptor.guard.os = table.texts("os")?;
    descriptor.guard.arch = table.texts("arch")?;
    Ok(())
}

/// Checks that kind, health and port are consistent.
fn check_consistency(
    descriptor: &ServiceDescriptor,
    table: &TableReader<'_>,
) -> Result<(), FileProblem> {
    let port_word = |text: &String| text.contains("{port}");
    let health_url = matches!(&descriptor.health, Some(HealthProbe::Url(_)));
    match (descriptor.kind, &descriptor.health) {
        (ServiceKind::Http, None) => {
            let message = "a service of kind \"http\" needs 'health', the path that answers when it is ready, such as \"/health\"";
            return Err(table.problem("kind", message));
        }
        (ServiceKind::Process, Some(_)) => {
            let message = "only a service of kind \"http\" has 'health'; write kind = \"http\"";
            return Err(table.problem("health", message));
        }
        _ => {}
    }
    if descriptor.port != PortChoice::None {
        return Ok(());
    }
    if descriptor.health.is_some() && !health_url {
        let message = "'health' is a path, so 'port' must say where; write port = 0 for a free one";
        return Err(table.problem("health", message));
    }
    let health = match &descriptor.health {
        Some(HealthProbe::Url(url)) => Some(url),
        _ => None,
    };
    let uses = [
        ("command", descriptor.command.iter().any(port_word)),
        ("env", descriptor.env.values().any(port_word)),
        ("health", health.is_some_and(port_word)),
    ];
    match uses.iter().find(|(_, uses)| *uses) {
        Some((key, _)) => {
            let message = format!("'{key}' has {{port}}, so 'port' must be set; 0 is a free one");
            Err(table.problem(key, message))
        }
        None => Ok(()),
    }
}

/// A TOML table with typed access to its values.
struct TableReader<'a> {
    text: &'a str,
    items: &'a dyn TableLike,
    /// The prefix of its keys in messages.
    key_prefix: &'static str,
}

impl<'a> TableReader<'a> {
    /// Returns an error for the first unknown key.
    fn refuse_unknown_keys(&self, known: &[&str]) -> Result<(), FileProblem> {
        let unknown = self.items.iter().find(|(key, _)| !known.contains(key));
        match unknown {
            Some((key, _)) => {
                let shown: String = key.chars().take(NAME_CHARS_MAX).collect();
                let message = format!(
                    "there is no key '{}{shown}'; known are {}",
                    self.key_prefix,
                    known.join(", ")
                );
                Err(self.problem(key, message))
            }
            None => Ok(()),
        }
    }

    fn problem(&self, key: &str, message: impl Into<String>) -> FileProblem {
        let span = self.items.get_key_value(key).and_then(|(key, item)| {
            let span = key.span();
            span.or_else(|| item.span())
        });
        FileProblem {
            line: span.map(|span| line_number(self.text, span.start)),
            message: format!("{}.", message.into()),
        }
    }

    /// Reads a value; the error names the expected type.
    fn value<T>(
        &self,
        key: &str,
        takes: &str,
        read: impl Fn(&'a Item) -> Option<T>,
    ) -> Result<Option<T>, FileProblem> {
        let Some(item) = self.items.get(key) else {
            return Ok(None);
        };
        let refused = || self.problem(key, format!("'{}{key}' takes {takes}", self.key_prefix));
        read(item).map(Some).ok_or_else(refused)
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, FileProblem> {
        self.value(key, "a text", Item::as_str)
    }

    fn word(&self, key: &str, words: &[&str]) -> Result<Option<&'a str>, FileProblem> {
        let takes = format!("one of {}", words.join(", "));
        let known = |item: &'a Item| item.as_str().filter(|word| words.contains(word));
        self.value(key, &takes, known)
    }

    fn flag(&self, key: &str) -> Result<bool, FileProblem> {
        let flag = self.value(key, "true or false", Item::as_bool)?;
        Ok(flag.unwrap_or(false))
    }

    fn number(&self, key: &str, min: u64, max: u64) -> Result<Option<u64>, FileProblem> {
        let takes = format!("a whole number from {min} to {max}");
        let within = |item: &'a Item| {
            let number = u64::try_from(item.as_integer()?).ok()?;
            (min..=max).contains(&number).then_some(number)
        };
        self.value(key, &takes, within)
    }

    /// Reads a number of seconds, whole or with a fraction.
    fn seconds(&self, key: &str, min: u64) -> Result<Option<Duration>, FileProblem> {
        let takes = format!("seconds, from {min} to {SECONDS_MAX}");
        let bounds = Duration::from_secs(min)..=Duration::from_secs(SECONDS_MAX);
        let within = |item: &'a Item| {
            let whole = item
                .as_integer()
                .and_then(|descriptor| u64::try_from(descriptor).ok());
            let time = match whole {
                Some(seconds) => Duration::from_secs(seconds),
                None => Duration::try_from_secs_f64(item.as_float()?).ok()?,
            };
            bounds.contains(&time).then_some(time)
        };
        self.value(key, &takes, within)
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, FileProblem> {
        let all = |item: &'a Item| {
            let array = item.as_array().filter(|array| array.len() <= ITEMS_MAX)?;
            let texts = array.iter().map(|item| item.as_str().map(str::to_owned));
            // A zero byte cannot be passed in an argument.
            let plain = |text: &String| !text.contains('\0');
            let texts: Option<Vec<String>> = texts.collect();
            texts.filter(|texts| texts.iter().all(plain))
        };
        let texts = self.value(key, "a list of texts", all)?;
        Ok(texts.unwrap_or_default())
    }

    /// Reads a list of service names.
    fn names(&self, key: &str) -> Result<Vec<String>, FileProblem> {
        let names = self.texts(key)?;
        match names.iter().find(|name| !is_service_name(name)) {
            Some(wrong) => {
                let shown: String = wrong.chars().take(NAME_CHARS_MAX).collect();
                Err(self.problem(key, format!("'{key}': '{shown}' is not a service name")))
            }
            None => Ok(names),
        }
    }

    /// Reads a list of opt-in listeners.
    fn listeners(&self, key: &str, known: &[&str]) -> Result<Vec<String>, FileProblem> {
        let names = self.texts(key)?;
        let unknown = |name: &&String| !known.contains(&name.as_str());
        match names.iter().find(unknown) {
            Some(wrong) => {
                let shown: String = wrong.chars().take(NAME_CHARS_MAX).collect();
                let known = known.join(", ");
                Err(self.problem(
                    key,
                    format!("'{key}': there is no listener '{shown}'; known are {known}"),
                ))
            }
            None => Ok(names),
        }
    }

    fn variables(&self, key: &str) -> Result<BTreeMap<String, String>, FileProblem> {
        let all = |item: &'a Item| {
            let table = item.as_table_like()?;
            // One more than allowed, so that the check below notices an excess.
            let pairs = table.iter().take(ITEMS_MAX + 1).map(|(name, value)| {
                let named = !name.is_empty() && !name.contains(['=', '\0']);
                let value = value
                    .as_str()
                    .filter(|descriptor| named && !descriptor.contains('\0'))?;
                Some((name.to_owned(), value.to_owned()))
            });
            let pairs: Option<BTreeMap<String, String>> = pairs.collect();
            pairs.filter(|pairs| pairs.len() <= ITEMS_MAX)
        };
        let pairs = self.value(key, "a table of texts, such as { LANG = \"C\" }", all)?;
        Ok(pairs.unwrap_or_default())
    }

    fn table(&self, key: &'static str) -> Result<Option<TableReader<'a>>, FileProblem> {
        let inner = self.value(key, "a table", Item::as_table_like)?;
        let key_prefix = match key {
            "limits" => "limits.",
            _ => "intensity.",
        };
        Ok(inner.map(|items| TableReader {
            text: self.text,
            items,
            key_prefix,
        }))
    }
}

fn line_number(text: &str, at: usize) -> usize {
    let breaks = text.match_indices('\n');
    breaks.take_while(|(index, _)| *index < at).count() + 1
}

#[cfg(test)]
#[path = "service_file_tests.rs"]
mod tests;
