//! Programs that start the program their arguments name: `env`, `sudo`, `timeout`, `xargs`. Pure.

use super::word::Word;

/// Where the program behind a wrapper stands among the wrapper's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inner {
    /// None where there is none: no wrapper, or one that starts nothing here.
    pub(super) at: Option<usize>,
    /// Every argument before it was understood.
    pub(super) is_clear: bool,
    /// It gets more arguments than the line names.
    pub(super) more_arguments: bool,
}

/// How the arguments of a wrapper are read.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options without a value, and of those with one.
    flags: &'static str,
    valued: &'static str,
    /// Letters of options whose value can only follow in the same word.
    attached: &'static str,
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Letters of options that only show something.
    shows: &'static str,
    /// Arguments between the options and the program.
    operands: usize,
    /// `name=value` may stand before the program.
    assigns: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &[],
    flags: "",
    valued: "",
    attached: "",
    long_flags: &[],
    long_valued: &[],
    shows: "",
    operands: 0,
    assigns: false,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
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
        ..PLAIN
    },
    Wrapper {
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
        ..PLAIN
    },
    Wrapper {
        names: &["doas"],
        flags: "Lns",
        valued: "aCu",
        ..PLAIN
    },
    Wrapper {
        names: &["nice"],
        flags: "0123456789",
        valued: "n",
        long_valued: &["adjustment"],
        ..PLAIN
    },
    Wrapper {
        names: &["nohup", "builtin", "busybox", "toybox", "eatmydata"],
        ..PLAIN
    },
    Wrapper {
        names: &["timeout"],
        flags: "fpv",
        valued: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["command"],
        flags: "p",
        shows: "vV",
        ..PLAIN
    },
    Wrapper {
        names: &["exec"],
        flags: "cl",
        valued: "a",
        ..PLAIN
    },
    Wrapper {
        names: &["time"],
        flags: "apqv",
        valued: "fo",
        long_flags: &["append", "portability", "quiet", "verbose"],
        long_valued: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
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
        ..PLAIN
    },
    Wrapper {
        names: &["stdbuf"],
        valued: "eio",
        long_valued: &["error", "input", "output"],
        ..PLAIN
    },
    Wrapper {
        names: &["setsid"],
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        ..PLAIN
    },
    Wrapper {
        names: &["ionice"],
        flags: "t",
        valued: "cn",
        long_flags: &["ignore"],
        long_valued: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        names: &["chroot"],
        long_flags: &["skip-chdir"],
        long_valued: &["groups", "userspec"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["taskset"],
        flags: "ac",
        long_flags: &["all-tasks", "cpu-list"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["chrt"],
        flags: "bfiorvRd",
        valued: "DPT",
        operands: 1,
        ..PLAIN
    },
];

/// The program that `program` starts with these arguments.
pub(super) fn inner(program: &str, arguments: &[Word]) -> Inner {
    let none = Inner {
        at: None,
        is_clear: true,
        more_arguments: false,
    };
    let mut wrappers = WRAPPERS.iter();
    let Some(wrapper) = wrappers.find(|it| it.names.contains(&program)) else {
        return none;
    };
    let mut reader = Reader {
        wrapper,
        arguments,
        at: 0,
        is_clear: true,
        is_lost: false,
        shows: false,
    };
    reader.options();
    reader.operands();
    let is_xargs = program == "xargs";
    // With a placeholder the program's own name can come from the input.
    let fills_in = |word: &Word| {
        word.text.starts_with("-I") || word.text.starts_with("-i") || word.text.starts_with("--rep")
    };
    let before = &arguments[..reader.at.min(arguments.len())];
    let fills_in = is_xargs && before.iter().any(fills_in);
    let has_inner = reader.at < arguments.len() && !reader.shows && !reader.is_lost;
    Inner {
        at: has_inner.then_some(reader.at),
        is_clear: reader.is_clear && !reader.is_lost && !fills_in,
        more_arguments: is_xargs && has_inner,
    }
}

/// Reads what stands before the program. A value that is known only later is passed over; behind an
/// option that is not known nobody can tell where the program stands.
struct Reader<'a> {
    wrapper: &'a Wrapper,
    arguments: &'a [Word],
    at: usize,
    is_clear: bool,
    is_lost: bool,
    shows: bool,
}

impl Reader<'_> {
    /// Takes the next argument. One that is known only when the line runs may be several.
    fn next(&mut self) {
        let word = self.arguments.get(self.at);
        self.is_clear &= word.is_some_and(|word| word.unknown_at.is_none());
        self.at += 1;
    }

    fn options(&mut self) {
        while let Some(word) = self.arguments.get(self.at) {
            let Some(option) = word.text.strip_prefix('-') else {
                return;
            };
            self.next();
            match option {
                "-" => return,
                // `env -` is `env -i`.
                "" => self.is_lost |= !self.wrapper.assigns,
                _ => match option.strip_prefix('-') {
                    Some(long) => self.long(long),
                    None => self.short(option),
                },
            }
        }
    }

    fn long(&mut self, option: &str) {
        let (name, value) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (option, false),
        };
        if self.wrapper.long_valued.contains(&name) {
            if !value {
                self.next();
            }
        } else {
            self.is_lost |= !self.wrapper.long_flags.contains(&name);
        }
    }

    fn short(&mut self, letters: &str) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            if self.wrapper.valued.contains(letter) {
                if rest.as_str().is_empty() {
                    self.next();
                }
                return;
            }
            if self.wrapper.attached.contains(letter) {
                return;
            }
            self.shows |= self.wrapper.shows.contains(letter);
            let known = self.wrapper.flags.contains(letter) || self.wrapper.shows.contains(letter);
            self.is_lost |= !known;
        }
    }

    fn operands(&mut self) {
        for _ in 0..self.wrapper.operands {
            if self.at < self.arguments.len() {
                self.next();
            }
        }
        while self.wrapper.assigns {
            match self.arguments.get(self.at) {
                Some(word) if word.text.contains('=') => self.next(),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
#[path = "wrappers_tests.rs"]
mod tests;
