//! The commands of the README and of "Getting started", run literally from an empty home, line by
//! line as they stand, with the scripted model as the model that is there.
//!
//! Invariant: no command of these pages is left out. Those of cargo, which take minutes, are run by
//! `cargo xtask test` itself.

use crate::support::House;
use hob_sim::{Answer, Dialect, Sim};
use std::path::Path;

/// The commands of the pages that a test inside a build cannot run.
const OF_XTASK: [&str; 3] = [
    "cargo run --release -- ask --yes \"What is the capital of France?\"",
    "cargo xtask test",
    "cargo install --path crates/hob",
];

/// A page's blocks of code: their language and their lines.
fn blocks(page: &str) -> Vec<(String, Vec<String>)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page);
    let text = std::fs::read_to_string(&file).expect("the page");
    let mut blocks: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) => {
                is_code = !is_code;
                if is_code {
                    blocks.push((language.to_owned(), Vec::new()));
                }
            }
            None if is_code => blocks.last_mut().expect("it began").1.push(line.to_owned()),
            None => {}
        }
    }
    blocks
}

/// Stops the daemon that the commands started, also after a failure.
struct StopsDaemon<'h>(&'h House);

impl Drop for StopsDaemon<'_> {
    fn drop(&mut self) {
        self.0.hob(&["down"]);
    }
}

fn run_page(page: &str, commands_min: usize) {
    let sim = Sim::start(|asked| Answer::words(format!("About: {}", asked.last_user())));
    let config = format!(
        "[model]\ndefault = [\"sim/sim-small\"]\n[models.sim]\nkind = \"openai\"\nurl = \"{}\"\n",
        sim.url(Dialect::OpenaiChat)
    );
    let house = House::builder()
        .config(&config)
        .env("HOB_AUTOSTART", "1")
        .build();
    let _stops = StopsDaemon(&house);
    let mut run = 0;
    for (language, lines) in blocks(page) {
        if language != "sh" {
            assert_eq!(language, "", "{page}: only commands have a language");
            for line in &lines {
                assert!(
                    OF_XTASK.contains(&line.as_str()),
                    "{page}: nobody runs `{line}`"
                );
            }
            continue;
        }
        for line in &lines {
            let done = house.shell(line);
            assert_eq!(done.code, Some(0), "{page}: {line}\n{done:?}");
            run += 1;
        }
    }
    assert!(run >= commands_min, "{page} has only {run} commands");
}

#[test]
fn every_command_of_the_readme_runs() {
    run_page("README.md", 5);
}

#[test]
fn every_command_of_getting_started_runs() {
    run_page("docs/getting-started.md", 12);
}
