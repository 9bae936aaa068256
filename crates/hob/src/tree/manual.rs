//! Generates `docs/cli.md` from the command tree.

use super::help_text;
use clap::Command;
use std::fmt::Write;

/// The manual in Markdown.
pub fn text() -> String {
    let mut command = super::command().term_width(help_text::COLUMNS);
    command.build();
    let mut manual = String::from(
        "# The command line\n\n\
         This page is generated from the program. Each section is what `hob help COMMAND` says.\n",
    );
    // Writing to a string cannot fail.
    let _ = write!(
        manual,
        "\n## Exit codes\n\n```text\n{}\n```\n",
        help_text::exit_codes()
    );
    let _ = write!(
        manual,
        "\n## Environment\n\n```text\n{}\n```\n",
        help_text::ENVIRONMENT
    );
    section(&mut command, "hob", 2, &mut manual);
    manual
}

fn section(command: &mut Command, path: &str, depth: usize, manual: &mut String) {
    let page = command.render_help().to_string();
    let marks = "#".repeat(depth);
    let _ = write!(
        manual,
        "\n{marks} {path}\n\n```text\n{}\n```\n",
        page.trim_end()
    );
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        let path = format!("{path} {}", sub.get_name());
        section(sub, &path, (depth + 1).min(4), manual);
    }
}
