//! Finds the words of a simple command that are files it runs. Pure.

use hob_core::command_line::{ShellCommand, ShellCommands, ShellWord};

/// The effect of a simple command as far as scripts are concerned.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScriptUse {
    /// Later commands run in this folder; none if it is unknown.
    ChangeFolder(Option<ShellWord>),
    /// It runs another command line.
    Inner(Vec<ShellCommand>),
    /// It runs files.
    Scripts(Vec<ShellWord>),
    /// It runs files that the line does not name; a sentence about them.
    NotShown(String),
    Other,
}

/// Programs whose first word is a script, and their options.
struct ScriptInterpreter {
    names: &'static [&'static str],
    valued: &'static [&'static str],
    /// Options whose value is the program text.
    inline: &'static [&'static str],
    /// Options whose value is a file that is run.
    file: &'static [&'static str],
}

const INTERPRETERS: &[ScriptInterpreter] = &[
    ScriptInterpreter {
        names: &[
            "bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash",
        ],
        valued: &["-o", "+o", "-O", "+O"],
        inline: &["-c"],
        file: &["--rcfile", "--init-file"],
    },
    ScriptInterpreter {
        names: &["python", "pypy"],
        valued: &["-W", "-X", "--check-hash-based-pycs"],
        inline: &["-c"],
        file: &[],
    },
    ScriptInterpreter {
        names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node"],
        valued: &["-C", "--conditions", "--env-file", "--config"],
        inline: &["-e", "-p", "--eval", "--print"],
        file: &["-r", "--require", "--import", "--loader"],
    },
    ScriptInterpreter {
        names: &["perl"],
        valued: &["-I"],
        inline: &["-e", "-E"],
        file: &[],
    },
    ScriptInterpreter {
        names: &["ruby"],
        valued: &["-I", "-C", "-E"],
        inline: &["-e"],
        file: &["-r"],
    },
    ScriptInterpreter {
        names: &["php"],
        valued: &["-c", "-d", "-S", "-t", "-z"],
        inline: &["-r"],
        file: &["-f"],
    },
    ScriptInterpreter {
        names: &[
            "lua", "luajit", "tclsh", "rscript", "guile", "elixir", "julia", "groovy",
        ],
        valued: &["-l"],
        inline: &["-e"],
        file: &[],
    },
    ScriptInterpreter {
        names: &["awk", "gawk", "mawk", "sed"],
        valued: &["-F", "-v", "-e"],
        inline: &[],
        file: &["-f", "--file"],
    },
    ScriptInterpreter {
        names: &[".", "source"],
        valued: &[],
        inline: &[],
        file: &[],
    },
];

/// Programs that run commands from files of the project.
const PROJECT_RUNNERS: &[&str] = &[
    "ant", "bazel", "bundle", "cargo", "cmake", "composer", "go", "gradle", "gradlew", "just",
    "make", "gmake", "meson", "mvn", "ninja", "npm", "npx", "pnpm", "poetry", "pytest", "rake",
    "task", "tox", "uv", "yarn",
];

/// Options that change the folder of the program behind a wrapper.
const FOLDER_OPTIONS: &[&str] = &["-C", "-D", "--chdir"];

pub(super) fn script_use(command: &ShellCommand) -> ScriptUse {
    let chain = command.programs();
    let Some(&at) = chain.at.last() else {
        return ScriptUse::Other;
    };
    let (before, program) = (&command.words[..at], &command.words[at]);
    if chain.is_lost {
        let name = program.file_name();
        return ScriptUse::NotShown(format!("What '{name}' runs is not shown and not bound."));
    }
    let is_folder_option =
        |word: &&ShellWord| FOLDER_OPTIONS.iter().any(|it| word.text().starts_with(it));
    let mut wrappers = before.iter().map(ShellWord::file_name);
    let mover = wrappers.find(|name| matches!(*name, "env" | "sudo"));
    if let (Some(name), Some(option)) = (mover, before.iter().find(is_folder_option)) {
        let option = option.text();
        return ScriptUse::NotShown(format!(
            "'{name} {option}' runs it in another folder: a script named there is not shown and not bound."
        ));
    }
    program_call(command, program, &command.words[at + 1..])
}

fn program_call(command: &ShellCommand, program: &ShellWord, rest: &[ShellWord]) -> ScriptUse {
    let name = program.file_name().to_lowercase();
    let name = name.as_str();
    match name {
        "cd" | "pushd" => {
            let into = rest.iter().find(|word| !is_option(word));
            return ScriptUse::ChangeFolder(into.filter(|word| word.text() != "-").cloned());
        }
        "popd" => return ScriptUse::ChangeFolder(None),
        "eval" => {
            let is_known = rest.iter().all(ShellWord::is_known);
            let text: Vec<&str> = rest.iter().map(ShellWord::text).collect();
            return inner(&text.join(" "), is_known, command.depth);
        }
        "find" => return find_call(rest, command.depth),
        _ => {}
    }
    if let Some(known) = INTERPRETERS.iter().find(|known| known.fits(name)) {
        let own = program.text().contains('/').then(|| program.clone());
        return match known.call(command, name, rest) {
            ScriptUse::Scripts(mut scripts) => {
                scripts.extend(own);
                ScriptUse::Scripts(scripts)
            }
            ScriptUse::Other => own.map_or(ScriptUse::Other, |own| ScriptUse::Scripts(vec![own])),
            other => other,
        };
    }
    if program.text().contains('/') || !program.is_known() {
        return ScriptUse::Scripts(vec![program.clone()]);
    }
    if PROJECT_RUNNERS.contains(&name) {
        return ScriptUse::NotShown(format!(
            "What '{name}' runs comes from files of the project, which are not shown and not bound."
        ));
    }
    ScriptUse::Other
}

/// The programs of `find -exec`.
fn find_call(rest: &[ShellWord], depth: usize) -> ScriptUse {
    let runs = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut commands = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        if runs.contains(&word.text()) {
            let words = rest[at + 1..].iter();
            let words = words.take_while(|word| !matches!(word.text(), ";" | "+"));
            commands.push(ShellCommand::from_words(words.cloned().collect(), depth));
        }
    }
    if commands.is_empty() {
        ScriptUse::Other
    } else {
        ScriptUse::Inner(commands)
    }
}

impl ScriptInterpreter {
    /// Returns true if a program is this one; a version suffix is ignored.
    fn fits(&self, name: &str) -> bool {
        let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let mut names = self.names.iter();
        names.any(|known| *known == name || !plain.is_empty() && *known == plain)
    }

    fn call(&self, command: &ShellCommand, name: &str, words: &[ShellWord]) -> ScriptUse {
        let mut files = Vec::new();
        let mut left = words;
        let mut ends_options = false;
        while let Some((word, rest)) = left.split_first() {
            let text = word.text();
            if text == "--" && !ends_options {
                ends_options = true;
                left = rest;
                continue;
            }
            if ends_options || !is_option(word) && !text.starts_with('+') {
                break;
            }
            // Short options of a shell may be combined: `-ec`.
            let is_shell = self.names.contains(&"bash");
            let is_inline = self.inline.contains(&text)
                || is_shell && !text.starts_with("--") && text.ends_with('c');
            if is_inline {
                return match rest.first() {
                    Some(line) if is_shell => inner(line.text(), line.is_known(), command.depth),
                    _ => ScriptUse::Scripts(files),
                };
            }
            if text == "-m" && self.names.contains(&"python") {
                return not_shown_module(rest.first());
            }
            if self.file.contains(&text) {
                files.extend(rest.first().cloned());
                left = rest.get(1..).unwrap_or_default();
            } else if self.valued.contains(&text) {
                left = rest.get(1..).unwrap_or_default();
            } else {
                left = rest;
            }
        }
        if matches!(name, "deno" | "bun") && left.first().is_some_and(|word| word.text() == "run") {
            left = &left[1..];
            while left.first().is_some_and(is_option) {
                left = &left[1..];
            }
        }
        // Without `-f`, `awk` and `sed` take their program from the line, so the first word is no file.
        if !self.names.contains(&"awk") {
            files.extend(left.first().filter(|word| word.text() != "-").cloned());
        }
        if !files.is_empty() {
            return ScriptUse::Scripts(files);
        }
        if let Some(input) = command.input() {
            return ScriptUse::Scripts(vec![input.clone()]);
        }
        if let Some(document) = command.document().filter(|_| self.names.contains(&"bash")) {
            return inner(document, true, command.depth);
        }
        if command.is_piped && !self.names.contains(&"awk") {
            return ScriptUse::NotShown(format!(
                "'{name}' runs what another program prints, which is not shown and not bound."
            ));
        }
        ScriptUse::Other
    }
}

fn not_shown_module(module: Option<&ShellWord>) -> ScriptUse {
    let name = module.map_or("", ShellWord::text);
    ScriptUse::NotShown(format!(
        "The Python module '{name}' may be a file of the project; it is not shown and not bound."
    ))
}

fn inner(line: &str, is_known: bool, depth: usize) -> ScriptUse {
    if !is_known {
        return ScriptUse::NotShown(
            "A part of the line is decided when it runs; what that runs is not shown and not bound."
                .to_owned(),
        );
    }
    ScriptUse::Inner(ShellCommands::parse(line, depth + 1).commands)
}

fn is_option(word: &ShellWord) -> bool {
    word.text().starts_with('-') && word.text() != "-"
}
