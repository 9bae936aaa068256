//! Programs that start the program their arguments name: `env`, `sudo`, `timeout`, `xargs`. Pure.

use super::grammar::ProgramChain;
use super::word::ShellWord;

/// The position of the program behind a wrapper among the wrapper's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrappedProgram {
    /// `None` if there is none: not a wrapper, or one that starts nothing here.
    pub(super) at: Option<usize>,
    /// Every argument before it was understood.
    pub(super) is_clear: bool,
    /// It gets more arguments than the line contains.
    pub(super) more_arguments: bool,
}

/// The options and operands of a wrapper.
struct WrapperSpec {
    names: &'static [&'static str],
    /// Letters of options without a value, and of options with one.
    flags: &'static str,
    valued: &'static str,
    /// Letters of options whose value can only follow in the same word.
    attached: &'static str,
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Letters of options that only display something.
    display_flags: &'static str,
    /// Arguments between the options and the program.
    operands: usize,
    /// `name=value` may precede the program.
    assigns: bool,
}

const NO_OPTIONS: WrapperSpec = WrapperSpec {
    names: &[],
    flags: "",
    valued: "",
    attached: "",
    long_flags: &[],
    long_valued: &[],
    display_flags: "",
    operands: 0,
    assigns: false,
};

const WRAPPERS: &[WrapperSpec] = &[
    WrapperSpec {
        names: &["env"],
        flags: "i0v",
        valued: "uC",
        long_flags: &[
            "ignore-environment",
            "null",
            "debug",
            "block-signal",
            "default-signal",
            "ignore-signal",
            "list-signal-handling",
        ],
        long_valued: &["unset", "chdir"],
        assigns: true,
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["sudo"],
        flags: "ABbEHikKnNPSs",
        valued: "aCcDghpRrTtUu",
        long_flags: &[
            "askpass",
            "background",
            "bell",
            "preserve-env",
            "set-home",
            "login",
            "non-interactive",
            "no-update",
            "preserve-groups",
            "stdin",
            "shell",
            "reset-timestamp",
        ],
        long_valued: &[
            "auth-type",
            "close-from",
            "login-class",
            "chdir",
            "group",
            "host",
            "prompt",
            "chroot",
            "role",
            "command-timeout",
            "type",
            "other-user",
            "user",
        ],
        assigns: true,
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["doas"],
        flags: "Lns",
        valued: "aCu",
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["nice"],
        flags: "0123456789",
        valued: "n",
        long_valued: &["adjustment"],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &[
            "nohup",
            "builtin",
            "busybox",
            "toybox",
            "eatmydata",
            "chronic",
        ],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["timeout"],
        flags: "fpv",
        valued: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["command"],
        flags: "p",
        display_flags: "vV",
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["exec"],
        flags: "cl",
        valued: "a",
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["time"],
        flags: "apqv",
        valued: "fo",
        long_flags: &["append", "portability", "quiet", "verbose"],
        long_valued: &["format", "output"],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["xargs"],
        flags: "0ortpx",
        valued: "adEILnPs",
        attached: "eil",
        long_flags: &[
            "null",
            "exit",
            "interactive",
            "no-run-if-empty",
            "open-tty",
            "verbose",
            "eof",
            "max-lines",
            "replace",
            "show-limits",
        ],
        long_valued: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-chars",
            "max-procs",
            "process-slot-var",
        ],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["stdbuf"],
        valued: "eio",
        long_valued: &["error", "input", "output"],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["setsid"],
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["ionice"],
        flags: "t",
        valued: "cn",
        long_flags: &["ignore"],
        long_valued: &["class", "classdata"],
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["chroot"],
        long_flags: &["skip-chdir"],
        long_valued: &["groups", "userspec"],
        operands: 1,
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["taskset"],
        flags: "ac",
        long_flags: &["all-tasks", "cpu-list"],
        operands: 1,
        ..NO_OPTIONS
    },
    WrapperSpec {
        names: &["chrt"],
        flags: "bfiorvRd",
        valued: "DPT",
        operands: 1,
        ..NO_OPTIONS
    },
];

/// Returns the programs of a command's words.
pub(super) fn program_chain(words: &[ShellWord]) -> ProgramChain {
    let mut chain = ProgramChain {
        is_clear: true,
        ..ProgramChain::default()
    };
    let mut next = (!words.is_empty()).then_some(0);
    // Wrappers can be nested: `sudo env timeout 5 rm x`.
    while let Some(at) = next {
        chain.at.push(at);
        let wrapped = find_wrapped(words[at].file_name(), &words[at + 1..]);
        chain.is_clear &= wrapped.is_clear;
        chain.is_lost = wrapped.at.is_none() && !wrapped.is_clear;
        chain.more_arguments |= wrapped.more_arguments;
        next = wrapped.at.map(|inner| at + 1 + inner);
    }
    chain
}

/// Returns the program that `program` starts with these arguments.
pub(super) fn find_wrapped(program: &str, arguments: &[ShellWord]) -> WrappedProgram {
    let none = WrappedProgram {
        at: None,
        is_clear: true,
        more_arguments: false,
    };
    let mut wrappers = WRAPPERS.iter();
    let Some(wrapper) = wrappers.find(|it| it.names.contains(&program)) else {
        return none;
    };
    let mut reader = WrapperArgReader {
        wrapper,
        arguments,
        at: 0,
        is_clear: true,
        is_lost: false,
        shows: false,
    };
    reader.skip_options();
    reader.skip_operands();
    let is_xargs = program == "xargs";
    // With a placeholder the program's own name can come from the input.
    let fills_in = |word: &ShellWord| {
        word.text.starts_with("-I") || word.text.starts_with("-i") || word.text.starts_with("--rep")
    };
    let before = &arguments[..reader.at.min(arguments.len())];
    let fills_in = is_xargs && before.iter().any(fills_in);
    let has_inner = reader.at < arguments.len() && !reader.shows && !reader.is_lost;
    WrappedProgram {
        at: has_inner.then_some(reader.at),
        is_clear: reader.is_clear && !reader.is_lost && !fills_in,
        more_arguments: is_xargs && has_inner,
    }
}

/// Reads the arguments before the program. A value known only later is skipped; after an unknown
/// option the program's position cannot be determined.
struct WrapperArgReader<'a> {
    wrapper: &'a WrapperSpec,
    arguments: &'a [ShellWord],
    at: usize,
    is_clear: bool,
    is_lost: bool,
    shows: bool,
}

impl WrapperArgReader<'_> {
    /// Skips the next argument. One that is known only when the line runs may be several.
    fn advance(&mut self) {
        let word = self.arguments.get(self.at);
        self.is_clear &= word.is_some_and(|word| word.unknown_at.is_none());
        self.at += 1;
    }

    fn skip_options(&mut self) {
        while let Some(word) = self.arguments.get(self.at) {
            let Some(option) = word.text.strip_prefix('-') else {
                return;
            };
            self.advance();
            match option {
                "-" => return,
                // `env -` is `env -i`.
                "" => self.is_lost |= !self.wrapper.assigns,
                _ => match option.strip_prefix('-') {
                    Some(long) => self.skip_long(long),
                    None => self.skip_short(option),
                },
            }
        }
    }

    fn skip_long(&mut self, option: &str) {
        let (name, value) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (option, false),
        };
        if self.wrapper.long_valued.contains(&name) {
            if !value {
                self.advance();
            }
        } else {
            self.is_lost |= !self.wrapper.long_flags.contains(&name);
        }
    }

    fn skip_short(&mut self, letters: &str) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            if self.wrapper.valued.contains(letter) {
                // Otherwise the value is the rest of this word.
                if rest.as_str().is_empty() {
                    self.advance();
                }
                return;
            }
            if self.wrapper.attached.contains(letter) {
                return;
            }
            self.shows |= self.wrapper.display_flags.contains(letter);
            let known =
                self.wrapper.flags.contains(letter) || self.wrapper.display_flags.contains(letter);
            self.is_lost |= !known;
        }
    }

    fn skip_operands(&mut self) {
        for _ in 0..self.wrapper.operands {
            if self.at < self.arguments.len() {
                self.advance();
            }
        }
        // Assignments come after the options: `env -i A=1 B=2 program`.
        while self.wrapper.assigns {
            match self.arguments.get(self.at) {
                Some(word) if word.text.contains('=') => self.advance(),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
#[path = "wrappers_tests.rs"]
mod tests;
