//! Texts generated from the declarations: the commented default file and the reference page.

use super::catalog::SettingsCatalog;
use super::key::SettingKey;
use std::fmt::Write;

impl SettingsCatalog {
    /// Generates a config file in which each key is a comment with its default.
    pub fn default_text(&self) -> String {
        let mut text = String::from(
            "# hob's settings. Each line below shows a default; take the '#' off to change it.\n\
             # 'hob config set KEY VALUE' edits this file and keeps your comments.\n",
        );
        for (section, keys) in self.sections() {
            let pattern = section.contains('*');
            let header = section.replace('*', "NAME");
            // A named table is an example; the others are there to be filled.
            let mark = if pattern { "# " } else { "" };
            let _ = write!(text, "\n{mark}[{header}]\n");
            for key in keys {
                for line in wrap(key.doc, 90) {
                    let _ = writeln!(text, "# {line}");
                }
                let _ = writeln!(text, "# {}\n", example(key));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// Generates the reference page in Markdown.
    pub fn reference_text(&self) -> String {
        let mut text = String::from(
            "# Settings\n\n\
             This page is generated from the program.\n\n\
             Settings live in `config.toml` (`hob config path` says where). An environment \
             variable beats the file. An unknown key, a wrong type or a value out of bounds is \
             refused with its line. `hob config set KEY VALUE` edits the file and keeps its \
             comments; a *live* setting applies at once, the others after `hob restart`. What you edit \
             by hand is read at the next start.\n",
        );
        for (section, keys) in self.sections() {
            let _ = write!(text, "\n## `[{}]`\n", section.replace('*', "NAME"));
            for key in keys {
                let _ = write!(text, "\n### `{}`\n\n{}\n\n", key.path, key.doc);
                for fact in facts(key) {
                    let _ = writeln!(text, "- {fact}");
                }
            }
        }
        text
    }

    /// Groups the keys by table, in the order of each table's first key.
    fn sections(&self) -> Vec<(&'static str, Vec<&SettingKey>)> {
        let mut sections: Vec<(&'static str, Vec<&SettingKey>)> = Vec::new();
        for key in self.keys() {
            let section = key.path.rsplit_once('.').map_or("", |(section, _)| section);
            match sections.iter_mut().find(|(name, _)| *name == section) {
                Some((_, keys)) => keys.push(key),
                None => sections.push((section, vec![key])),
            }
        }
        sections
    }
}

fn example(key: &SettingKey) -> String {
    let name = key.path.rsplit('.').next().unwrap_or(key.path);
    match key.default_value() {
        Some(value) => format!("{name} = {value}"),
        None => format!("{name} ="),
    }
}

fn facts(key: &SettingKey) -> Vec<String> {
    let default = key.default_value();
    let default = default.map_or_else(String::new, |value| value.to_string());
    let mut facts = vec![
        format!("Default: `{default}`"),
        format!("Takes {}.", key.kind.expects()),
    ];
    facts.push(match (key.variable(), key.alias) {
        (Some(variable), Some(alias)) => format!("Environment: `{variable}`, or `{alias}`"),
        (Some(variable), None) => format!("Environment: `{variable}`"),
        (None, _) => "Environment: none".to_owned(),
    });
    facts.push(if key.live {
        "Live: a change applies at once.".to_owned()
    } else {
        "A change applies after `hob restart`.".to_owned()
    });
    if !key.over_wire {
        facts.push("Set in the file only, never over the wire.".to_owned());
    }
    facts
}

fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > columns {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
