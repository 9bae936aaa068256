//! The command line of `hob terminal`.

use crate::tree::help_text::examples;
use clap::{Arg, ArgAction, Command, value_parser};
use hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;

pub fn command() -> Command {
    Command::new("terminal")
        .about("Shares a terminal with hob: run, watch and type in it")
        .long_about(
            "A terminal is a shell in tmux that you and hob share. You see what hob types; \
             what you type is recorded as yours. It keeps running when you detach and when \
             the daemon restarts. Without a name, the terminal 'main' is used.",
        )
        .after_help(examples(&[
            "hob terminal run make test",
            "hob terminal attach",
            "hob terminal capture build -n 200",
            "hob terminal history",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list())
        .subcommand(run())
        .subcommand(attach())
        .subcommand(capture())
        .subcommand(history())
        .subcommand(keys())
        .subcommand(cancel())
        .subcommand(open())
        .subcommand(close())
}

fn list() -> Command {
    Command::new("list")
        .about("Lists the terminals and their states")
        .after_help(examples(&["hob terminal list", "hob terminal list --json"]))
}

fn run() -> Command {
    Command::new("run")
        .about("Runs a command in a terminal and shows its output")
        .long_about(
            "The words are joined and typed as one line, after commands that are already queued; \
             quote what your own shell must not expand. Exits with the command's exit code. Ctrl-C \
             ends the command; a second Ctrl-C exits without waiting. A missing terminal is \
             created in the current folder; an existing one keeps its own folder.",
        )
        .after_help(examples(&[
            "hob terminal run uptime",
            "hob terminal run 'make && make test'",
            "hob terminal run -t build --timeout 10m make test",
            "hob terminal run --detach ./long.sh",
            "hob --json terminal run df -h",
        ]))
        .arg(terminal())
        .arg(
            Arg::new("detach")
                .long("detach")
                .short('d')
                .action(ArgAction::SetTrue)
                .help("Returns at once; `hob terminal history` shows how it ended"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("TIME")
                .value_parser(|text: &str| hob_kit::duration::parse_ms(text))
                .help("Interrupts the command after this time, such as 10m; exit code 124"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .required(true)
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("The command line"),
        )
}

fn attach() -> Command {
    Command::new("attach")
        .about("Opens a terminal here, to type in it yourself")
        .long_about(
            "Ctrl-b d detaches; everything in it keeps running. A missing terminal is \
             created in the current folder. Also works inside your own tmux.",
        )
        .after_help(examples(&[
            "hob terminal attach",
            "hob terminal attach build",
        ]))
        .arg(name())
}

fn capture() -> Command {
    Command::new("capture")
        .about("Prints a terminal's screen and the lines before it")
        .after_help(examples(&[
            "hob terminal capture",
            "hob terminal capture build -n 1000",
            "hob terminal capture -n 0 --json",
        ]))
        .arg(name())
        .arg(
            Arg::new("lines")
                .long("lines")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u32).range(..=i64::from(TERMINAL_CAPTURE_LINES_MAX)))
                .help("The number of lines before the screen; 100 if missing"),
        )
}

fn history() -> Command {
    Command::new("history")
        .about("Lists the commands of a terminal, newest last")
        .long_about(
            "The column BY names the author: 'you' typed it in the terminal, a 'client' sent it, or \
             a 'model' ran it with permission. With --id, shows one command and its output.",
        )
        .after_help(examples(&[
            "hob terminal history",
            "hob terminal history build -n 200",
            "hob terminal history --id 3f9a01cc",
        ]))
        .arg(name().help("The terminal; all if missing"))
        .arg(
            Arg::new("lines")
                .long("lines")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1_000))
                .help("The number of commands; 50 if missing"),
        )
        .arg(id().conflicts_with_all(["name", "lines"]))
}

fn keys() -> Command {
    Command::new("keys")
        .about("Types into the program that runs in a terminal")
        .long_about(
            "Types the text, then presses the keys, which are given by name: Enter, Tab, \
             Escape, Up, C-c, M-f, F5.",
        )
        .after_help(examples(&[
            "hob terminal keys C-c",
            "hob terminal keys --text yes Enter",
            "hob terminal keys -t build q",
        ]))
        .arg(terminal())
        .arg(
            Arg::new("text")
                .long("text")
                .value_name("TEXT")
                .allow_hyphen_values(true)
                .help("Text to type as it is; key names in it are not special"),
        )
        .arg(
            Arg::new("keys")
                .value_name("KEY")
                .num_args(0..)
                .required_unless_present("text")
                .help("Keys to press after the text"),
        )
}

fn cancel() -> Command {
    Command::new("cancel")
        .about("Ends hob's command in a terminal and drops queued ones")
        .long_about(
            "The running command is interrupted, and killed if it does not stop. Your own commands \
             keep running; Ctrl-C in the terminal ends them.",
        )
        .after_help(examples(&[
            "hob terminal cancel",
            "hob terminal cancel build",
            "hob terminal cancel --id 3f9a01cc",
        ]))
        .arg(name())
        .arg(id().help("Only this command, by its id or the end of its id"))
}

fn open() -> Command {
    Command::new("open")
        .about("Opens a terminal in a window of your desktop")
        .long_about(
            "The program is the setting terminal.window, or the first one installed of foot, kitty, \
             alacritty, gnome-terminal, konsole, xfce4-terminal, terminator and xterm. A window \
             that is already open is kept; closing a window keeps the terminal.",
        )
        .after_help(examples(&[
            "hob terminal open",
            "hob terminal open build --program kitty",
            "hob terminal open --another",
        ]))
        .arg(name())
        .arg(
            Arg::new("program")
                .long("program")
                .value_name("PROGRAM")
                .help("The program to use"),
        )
        .arg(
            Arg::new("another")
                .long("another")
                .action(ArgAction::SetTrue)
                .help("Opens another window even if one is open"),
        )
}

fn close() -> Command {
    Command::new("close")
        .about("Closes a terminal and everything in it, or only its windows")
        .long_about(
            "Asks first if something is running there. Windows that others opened on it close too.",
        )
        .after_help(examples(&[
            "hob terminal close build",
            "hob terminal close --windows",
            "hob terminal close build --yes",
        ]))
        .arg(name())
        .arg(
            Arg::new("windows")
                .long("windows")
                .action(ArgAction::SetTrue)
                .help("Closes only the windows that hob opened; the terminal stays"),
        )
        .arg(
            Arg::new("yes")
                .long("yes")
                .short('y')
                .action(ArgAction::SetTrue)
                .help("Closes it even if something is running"),
        )
}

fn name() -> Arg {
    Arg::new("name")
        .value_name("NAME")
        .help("The terminal; main if missing")
}

fn terminal() -> Arg {
    Arg::new("name")
        .long("terminal")
        .short('t')
        .value_name("NAME")
        .help("The terminal; main if missing")
}

fn id() -> Arg {
    Arg::new("id")
        .long("id")
        .value_name("ID")
        .help("One command, by its id or the end of its id as the list shows it")
}
