//! Reading `services/NAME.toml`.
//!
//! Invariant: a file with an unknown key, a wrong type or a value out of bounds is refused with the
//! key and its line, never half read.

use crate::descriptor::{Descriptor, Health, Kind, Port, Restart};
use hob_wire::rooms::service::ServiceRole;
use std::collections::BTreeMap;
use std::time::Duration;
use toml_edit::{Document, Item, TableLike};

pub const NAME_CHARS_MAX: usize = 64;
/// Words of a command, variables, needs, aliases: no service has more.
const ITEMS_MAX: usize = 256;
/// A day: longer than anything is waited for.
const SECONDS_MAX: u64 = 24 * 3_600;
const MIB: u64 = 1024 * 1024;
/// More of anything than a kernel gives.
const COUNT_MAX: u64 = 1 << 30;

/// The opt-in listeners that a service may be let in to.
const LISTENERS: &[&str] = &["vargos", "agentloop", "looprunner", "archy"];

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

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// Counted from 1; missing when something is not there.
    pub line: Option<usize>,
    pub message: String,
}

impl FileProblem {
    /// In a sentence, with the file's name.
    pub fn shown(&self, file: &str) -> String {
        match self.line {
            Some(line) => format!("{file}, line {line}: {}", self.message),
            None => format!("{file}: {}", self.message),
        }
    }
}

/// Whether a service may be called so.
pub fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= NAME_CHARS_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|b| inner(b) || b == b'-' || b == b'_')
}

/// The service that a file's text describes.
pub fn read(name: &str, text: &str) -> Result<Descriptor, FileProblem> {
    let document = Document::parse(text).map_err(|failure| FileProblem {
        line: Some(line_of(text, failure.span().map_or(0, |span| span.start))),
        message: format!(
            "this is not TOML: {}",
            failure.message().replace('\n', "; ")
        ),
    })?;
    let table = Table {
        text,
        items: document.as_table(),
        above: "",
    };
    table.only(KEYS)?;
    let mut descriptor = basics(name, &table)?;
    timing(&mut descriptor, &table)?;
    bounds(&mut descriptor, &table)?;
    consistent(&descriptor, &table)?;
    Ok(descriptor)
}

/// What it is and how it is started.
fn basics(name: &str, table: &Table<'_>) -> Result<Descriptor, FileProblem> {
    let mut it = Descriptor::defaults(name);
    if let Some(about) = table.text("about")? {
        about.clone_into(&mut it.about);
    }
    it.kind = match table.word("kind", &["http", "process"])? {
        Some("http") => Kind::Http,
        _ => Kind::Process,
    };
    it.role = match table.word("role", &["llm", "tts", "vlm"])? {
        Some("llm") => Some(ServiceRole::Llm),
        Some("tts") => Some(ServiceRole::Tts),
        Some("vlm") => Some(ServiceRole::Vlm),
        _ => None,
    };
    it.aliases = table.names("aliases")?;
    it.needs = table.names("needs")?;
    it.command = table.texts("command")?;
    if it.command.first().is_none_or(String::is_empty) {
        let said = "'command' names the program and its arguments, such as [\"python3\", \"-m\", \"http.server\", \"{port}\"]";
        return Err(table.wrong("command", said));
    }
    it.env = table.variables("env")?;
    it.port = match table.number("port", 0, u64::from(u16::MAX))? {
        None => Port::None,
        Some(0) => Port::Free,
        Some(port) => Port::Fixed(u16::try_from(port).unwrap_or(u16::MAX)),
    };
    it.health = table.text("health")?.map(|health| {
        if health.starts_with('/') {
            Health::Path(health.to_owned())
        } else {
            Health::Url(health.to_owned())
        }
    });
    if let Some(Health::Url(url)) = &it.health
        && !url.starts_with("http://")
    {
        let said = "'health' is a path such as \"/health\" or an address that begins with http://";
        return Err(table.wrong("health", said));
    }
    it.licence = table.text("licence")?.map(str::to_owned);
    Ok(it)
}

/// When it is ready, started again, and stopped.
fn timing(it: &mut Descriptor, table: &Table<'_>) -> Result<(), FileProblem> {
    if let Some(ready) = table.seconds("ready_seconds", 1)? {
        it.ready = ready;
    }
    if let Some(stop) = table.seconds("stop_seconds", 0)? {
        it.stop = stop;
    }
    it.idle = table.seconds("idle_seconds", 1)?;
    it.restart = match table.word("restart", &["always", "on-failure", "never"])? {
        Some("always") => Restart::Always,
        Some("never") => Restart::Never,
        _ => Restart::OnFailure,
    };
    if let Some(inner) = table.table("intensity")? {
        inner.only(&["restarts", "seconds"])?;
        if let Some(restarts) = inner.number("restarts", 0, 1_000)? {
            it.intensity.restarts = u32::try_from(restarts).unwrap_or(u32::MAX);
        }
        if let Some(within) = inner.seconds("seconds", 1)? {
            it.intensity.within = within;
        }
    }
    it.autostart = table.flag("autostart")?;
    Ok(())
}

/// What it may use, and where it runs.
fn bounds(it: &mut Descriptor, table: &Table<'_>) -> Result<(), FileProblem> {
    if let Some(inner) = table.table("limits")? {
        inner.only(&["processes", "open_files", "memory_mb"])?;
        it.limits.processes = inner.number("processes", 1, COUNT_MAX)?;
        it.limits.open_files = inner.number("open_files", 8, COUNT_MAX)?;
        let memory = inner.number("memory_mb", 1, COUNT_MAX)?;
        it.limits.memory_bytes = memory.map(|count| count.saturating_mul(MIB));
    }
    it.listen = table.listeners("listen")?;
    it.guard.os = table.texts("os")?;
    it.guard.arch = table.texts("arch")?;
    Ok(())
}

/// What must fit together.
fn consistent(it: &Descriptor, table: &Table<'_>) -> Result<(), FileProblem> {
    let port_word = |text: &String| text.contains("{port}");
    let health_url = matches!(&it.health, Some(Health::Url(_)));
    match (it.kind, &it.health) {
        (Kind::Http, None) => {
            let said = "a service of kind \"http\" needs 'health', the path that answers when it is ready, such as \"/health\"";
            return Err(table.wrong("kind", said));
        }
        (Kind::Process, Some(_)) => {
            let said = "only a service of kind \"http\" has 'health'; write kind = \"http\"";
            return Err(table.wrong("health", said));
        }
        _ => {}
    }
    if it.port != Port::None {
        return Ok(());
    }
    if it.health.is_some() && !health_url {
        let said = "'health' is a path, so 'port' must say where; write port = 0 for a free one";
        return Err(table.wrong("health", said));
    }
    let health = match &it.health {
        Some(Health::Url(url)) => Some(url),
        _ => None,
    };
    let uses = [
        ("command", it.command.iter().any(port_word)),
        ("env", it.env.values().any(port_word)),
        ("health", health.is_some_and(port_word)),
    ];
    match uses.iter().find(|(_, uses)| *uses) {
        Some((key, _)) => {
            let said = format!("'{key}' has {{port}}, so 'port' must be set; 0 is a free one");
            Err(table.wrong(key, said))
        }
        None => Ok(()),
    }
}

/// A table whose values are read by kind.
struct Table<'a> {
    text: &'a str,
    items: &'a dyn TableLike,
    /// What stands before its keys in messages.
    above: &'static str,
}

impl<'a> Table<'a> {
    /// Refuses keys that are not among these.
    fn only(&self, known: &[&str]) -> Result<(), FileProblem> {
        let unknown = self.items.iter().find(|(key, _)| !known.contains(key));
        match unknown {
            Some((key, _)) => {
                let shown: String = key.chars().take(NAME_CHARS_MAX).collect();
                let said = format!(
                    "there is no key '{}{shown}'; known are {}",
                    self.above,
                    known.join(", ")
                );
                Err(self.wrong(key, said))
            }
            None => Ok(()),
        }
    }

    fn wrong(&self, key: &str, message: impl Into<String>) -> FileProblem {
        let span = self.items.get_key_value(key).and_then(|(key, item)| {
            let span = key.span();
            span.or_else(|| item.span())
        });
        FileProblem {
            line: span.map(|span| line_of(self.text, span.start)),
            message: format!("{}.", message.into()),
        }
    }

    /// A value of one kind, or a sentence that says which.
    fn value<T>(
        &self,
        key: &str,
        takes: &str,
        read: impl Fn(&'a Item) -> Option<T>,
    ) -> Result<Option<T>, FileProblem> {
        let Some(item) = self.items.get(key) else {
            return Ok(None);
        };
        let refused = || self.wrong(key, format!("'{}{key}' takes {takes}", self.above));
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

    /// Whole seconds, or with a fraction.
    fn seconds(&self, key: &str, min: u64) -> Result<Option<Duration>, FileProblem> {
        let takes = format!("seconds, from {min} to {SECONDS_MAX}");
        let bounds = Duration::from_secs(min)..=Duration::from_secs(SECONDS_MAX);
        let within = |item: &'a Item| {
            let whole = item.as_integer().and_then(|it| u64::try_from(it).ok());
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
            let plain = |text: &String| !text.contains('\0');
            let texts: Option<Vec<String>> = texts.collect();
            texts.filter(|texts| texts.iter().all(plain))
        };
        let texts = self.value(key, "a list of texts", all)?;
        Ok(texts.unwrap_or_default())
    }

    /// Names of services.
    fn names(&self, key: &str) -> Result<Vec<String>, FileProblem> {
        let names = self.texts(key)?;
        match names.iter().find(|name| !is_name(name)) {
            Some(wrong) => {
                let shown: String = wrong.chars().take(NAME_CHARS_MAX).collect();
                Err(self.wrong(key, format!("'{key}': '{shown}' is no service's name")))
            }
            None => Ok(names),
        }
    }

    /// Names of opt-in listeners.
    fn listeners(&self, key: &str) -> Result<Vec<String>, FileProblem> {
        let names = self.texts(key)?;
        let unknown = |name: &&String| !LISTENERS.contains(&name.as_str());
        match names.iter().find(unknown) {
            Some(wrong) => {
                let shown: String = wrong.chars().take(NAME_CHARS_MAX).collect();
                let known = LISTENERS.join(", ");
                Err(self.wrong(
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
            let pairs = table.iter().take(ITEMS_MAX + 1).map(|(name, value)| {
                let named = !name.is_empty() && !name.contains(['=', '\0']);
                let value = value.as_str().filter(|it| named && !it.contains('\0'))?;
                Some((name.to_owned(), value.to_owned()))
            });
            let pairs: Option<BTreeMap<String, String>> = pairs.collect();
            pairs.filter(|pairs| pairs.len() <= ITEMS_MAX)
        };
        let pairs = self.value(key, "a table of texts, such as { LANG = \"C\" }", all)?;
        Ok(pairs.unwrap_or_default())
    }

    fn table(&self, key: &'static str) -> Result<Option<Table<'a>>, FileProblem> {
        let inner = self.value(key, "a table", Item::as_table_like)?;
        let above = match key {
            "limits" => "limits.",
            _ => "intensity.",
        };
        Ok(inner.map(|items| Table {
            text: self.text,
            items,
            above,
        }))
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let breaks = text.match_indices('\n');
    breaks.take_while(|(index, _)| *index < at).count() + 1
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
