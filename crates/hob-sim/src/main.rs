//! `hob-sim`: the scripted model server by hand. Says its words to everyone until interrupted.

use clap::Parser;
use hob_sim::{Answer, Dialect, Fault, Sim, SimParts};
use serde_json::Value;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// A model server that always says the same, in the HTTP of OpenAI, Anthropic and Gemini.
#[derive(Parser)]
#[command(max_term_width = 80)]
struct SimOptions {
    /// The port on 127.0.0.1; 0 takes any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// What it says.
    #[arg(long, default_value = "Hello from a scripted model.")]
    say: String,
    /// What it thinks first.
    #[arg(long, default_value = "")]
    think: String,
    /// Ask for this tool before saying anything, as `name={"json":"arguments"}`; may be repeated.
    #[arg(long, value_parser = call)]
    call: Vec<(String, Value)>,
    /// Say this many tokens, the words over and over, instead of the words once.
    #[arg(long)]
    tokens: Option<usize>,
    /// Say this many tokens, each the moment it was sent, instead of the words.
    #[arg(long, conflicts_with = "tokens")]
    stamps: Option<usize>,
    /// Take every request and say nothing at all.
    #[arg(long)]
    silent: bool,
    /// Microseconds from one token to the next.
    #[arg(long, default_value_t = 0)]
    every_us: u64,
}

fn main() -> io::Result<()> {
    let options = SimOptions::parse();
    let parts = SimParts {
        port: options.port,
        ..SimParts::default()
    };
    let words = words(&options.say, options.tokens);
    let every = Duration::from_micros(options.every_us);
    let SimOptions {
        think,
        call,
        stamps,
        silent,
        ..
    } = options;
    let sim = Sim::with(parts, move |asked| {
        if silent {
            return Answer::default().fault(Fault::Silence { headers: false });
        }
        let answer = if asked.results_of_task().is_empty() && !call.is_empty() {
            let calls = call
                .iter()
                .map(|(name, args)| (name.as_str(), args.clone()));
            Answer::default().calls(calls)
        } else {
            stamps.map_or_else(|| Answer::words(words.clone()), Answer::stamps)
        };
        answer.thinking(think.clone()).pace(1, every)
    })?;
    let mut out = io::stdout().lock();
    for dialect in Dialect::ALL {
        writeln!(out, "{dialect:?}: {}", sim.url(dialect))?;
    }
    // What lets another process read the stamps.
    writeln!(out, "Stamps: {}", stamps_begin_us(&sim))?;
    out.flush()?;
    loop {
        std::thread::park();
    }
}

/// The moment from which stamps count, in microseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock of the machine is the one that two processes share"
)]
fn stamps_begin_us(sim: &Sim) -> u128 {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let wall_us = wall.map_or(0, |since| since.as_micros());
    wall_us.saturating_sub(u128::from(sim.now_us()))
}

fn call(word: &str) -> Result<(String, Value), String> {
    let (name, args) = word.split_once('=').unwrap_or((word, "{}"));
    let args = serde_json::from_str(args).map_err(|failure| failure.to_string())?;
    Ok((name.to_owned(), args))
}

/// The words, or so many tokens of them.
fn words(say: &str, tokens: Option<usize>) -> String {
    let Some(tokens) = tokens else {
        return say.to_owned();
    };
    let said: Vec<&str> = say.split_whitespace().collect();
    let endless = said.iter().cycle().take(tokens);
    endless.fold(String::new(), |mut words, word| {
        words.push_str(word);
        words.push(' ');
        words
    })
}
