//! The settings `exec.*`.

use super::TIMEOUT_MS_MAX;
use hob_kit::settings::{SettingKey, SettingKind};

pub(crate) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "exec.timeout",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: TIMEOUT_MS_MAX,
        },
        "120s",
        "How long a command may take, unless the call says less or more; then it is ended with everything it started.",
    )
    .live(),
    SettingKey::new(
        "exec.memory_mib",
        SettingKind::Integer {
            min: 0,
            max: 1_048_576,
        },
        "16384",
        "Address space of one process of a command, in MiB; 0 is no limit.",
    )
    .live(),
    SettingKey::new(
        "exec.processes",
        SettingKind::Integer {
            min: 8,
            max: 32_768,
        },
        "512",
        "Processes and threads of one command at once.",
    )
    .live(),
    SettingKey::new(
        "exec.cpu",
        SettingKind::Duration {
            min_ms: 0,
            max_ms: 86_400_000,
        },
        "30m",
        "Processor time of one process of a command; 0s is no limit.",
    )
    .live(),
    SettingKey::new(
        "exec.file_mib",
        SettingKind::Integer {
            min: 1,
            max: 1_048_576,
        },
        "4096",
        "The largest file a command may write, in MiB.",
    )
    .live(),
    SettingKey::new(
        "exec.tmp_mib",
        SettingKind::Integer {
            min: 1,
            max: 65_536,
        },
        "512",
        "What a command's own /tmp holds, in MiB; it goes with the command.",
    )
    .live(),
    SettingKey::new(
        "exec.shown_bytes",
        SettingKind::Integer {
            min: 1_024,
            max: 131_072,
        },
        "32768",
        "How much of each of a command's streams the model is shown, its beginning and its end.",
    )
    .live(),
    SettingKey::new(
        "exec.output_mib",
        SettingKind::Integer { min: 1, max: 1_024 },
        "64",
        "How much of a command's whole output is kept when it is longer than what is shown, in MiB.",
    )
    .live(),
    SettingKey::new(
        "exec.kept_mib",
        SettingKind::Integer {
            min: 1,
            max: 1_048_576,
        },
        "512",
        "How much of outputs that were too long to be shown is kept in all, in MiB; the oldest go first.",
    )
    .live(),
];
