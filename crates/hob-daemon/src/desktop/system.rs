//! What machine this is, read from what the kernel and the distribution say.

use hob_exec::windows::{self, Desktop};
use hob_kit::world::Env;
use hob_wire::rooms::desktop::SystemInfo;
use std::os::unix::fs::MetadataExt;

pub(super) fn system(env: &Env) -> SystemInfo {
    let (memory_bytes, memory_available_bytes) = memory(&text("/proc/meminfo"));
    let (user, shell) = person(env);
    let windows = windows::detect(env, &Desktop::of(env));
    SystemInfo {
        os: distribution(),
        kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
        hostname: text("/proc/sys/kernel/hostname").trim().to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        user,
        shell,
        processors: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        memory_bytes,
        memory_available_bytes,
        uptime_seconds: uptime(&text("/proc/uptime")),
        load: load(&text("/proc/loadavg")),
        display: display(env).map(str::to_owned),
        terminals: windows.into_iter().map(|program| program.name).collect(),
    }
}

/// What shows windows, if anything does.
pub(super) fn display(env: &Env) -> Option<&'static str> {
    if env.os("WAYLAND_DISPLAY").is_some() {
        return Some("wayland");
    }
    env.os("DISPLAY").map(|_| "x11")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn distribution() -> String {
    let found = ["/etc/os-release", "/usr/lib/os-release"].map(text);
    found
        .iter()
        .find_map(|text| pretty_name(text))
        .unwrap_or_else(|| "Linux".to_owned())
}

fn pretty_name(release: &str) -> Option<String> {
    let value = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// All memory and what is left of it, in bytes.
fn memory(info: &str) -> (u64, u64) {
    let of = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default() * 1_024
    };
    (of("MemTotal:"), of("MemAvailable:"))
}

fn uptime(text: &str) -> u64 {
    let seconds = text.split(['.', ' ']).next();
    seconds
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or_default()
}

fn load(text: &str) -> [f64; 3] {
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse().unwrap_or_default());
    [(); 3].map(|()| numbers.next().unwrap_or_default())
}

/// The person's name and shell: as they told their programs, else as the system knows them.
fn person(env: &Env) -> (String, String) {
    let uid = std::fs::metadata("/proc/self")
        .map(|found| found.uid())
        .unwrap_or_default();
    let known = text("/etc/passwd");
    let known = known
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let row = known
        .into_iter()
        .find(|row| row.get(2) == Some(&&*uid.to_string()));
    let field = |at: usize| {
        row.as_ref()
            .and_then(|row| row.get(at))
            .map(|field| (*field).to_owned())
    };
    let user = env.text("USER").or(env.text("LOGNAME")).map(str::to_owned);
    let shell = env.text("SHELL").map(str::to_owned);
    (
        user.or_else(|| field(0)).unwrap_or_else(|| uid.to_string()),
        shell
            .or_else(|| field(6))
            .unwrap_or_else(|| "/bin/sh".to_owned()),
    )
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
