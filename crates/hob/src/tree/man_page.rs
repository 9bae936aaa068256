//! The man pages: `hob(1)`, and a page for each command with its subcommands. The text is that of
//! the help pages. Pure.

use super::help_text;
use clap::Command;
use std::fmt::Write;

/// Every page with its name: `hob`, `hob-ask`, `hob-session`.
pub fn pages() -> Vec<(String, String)> {
    let mut command = super::command().term_width(help_text::COLUMNS);
    command.build();
    let mut pages = vec![("hob".to_owned(), main_page(&mut command))];
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        let name = format!("hob-{}", sub.get_name());
        pages.push((name.clone(), page(&name, sub)));
    }
    pages
}

fn main_page(command: &mut Command) -> String {
    let mut text = page_head("hob", command);
    section("DESCRIPTION", &command.render_help().to_string(), &mut text);
    section("EXIT STATUS", &help_text::exit_codes(), &mut text);
    section("ENVIRONMENT", help_text::ENVIRONMENT, &mut text);
    text
}

fn page(name: &str, command: &mut Command) -> String {
    let mut text = page_head(name, command);
    section("DESCRIPTION", &command.render_help().to_string(), &mut text);
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        let heading = format!("{} {}", name.replacen('-', " ", 1), sub.get_name());
        section(
            &heading.to_uppercase(),
            &sub.render_help().to_string(),
            &mut text,
        );
    }
    section("SEE ALSO", "hob(1)", &mut text);
    text
}

fn page_head(name: &str, command: &Command) -> String {
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let (version, title) = (env!("CARGO_PKG_VERSION"), name.to_uppercase());
    format!(
        ".TH \"{title}\" \"1\" \"\" \"hob {version}\" \"hob\"\n.SH NAME\n{} \\- {}\n",
        escaped(name),
        escaped(&about)
    )
}

/// A section whose lines stay as they are.
fn section(heading: &str, body: &str, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(text, ".SH \"{}\"\n.nf\n", escaped(heading));
    for line in body.trim_end().lines() {
        let _ = writeln!(text, "{}", escaped(line));
    }
    text.push_str(".fi\n");
}

/// Escapes what troff would read as a command.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) {
        return format!("\\&{line}");
    }
    line
}

#[cfg(test)]
#[path = "man_page_tests.rs"]
mod tests;
