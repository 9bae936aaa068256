//! The command line of `hob terminal`.

use crate::tree::text::examples;
use clap::{Arg, ArgAction, Command, value_parser};
use hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;

pub fn command() -> Command {
    Command::new("terminal")
        .about("Shares a terminal: runs, watches and types where you can see it")
        .long_about(
            "A terminal is a shell in tmux that you and hob share. What hob types there you see; \
             what you type there is on record as yours. It lives on when you leave it and when \
             the daemon restarts. The terminal 'main' is meant where none is named.",
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
        .about("Lists the terminals there are, with what each is doing")
        .after_help(examples(&["hob terminal list", "hob terminal list --json"]))
}

fn run() -> Command {
    Command::new("run")
        .about("Runs a command in a terminal and shows what it prints")
        .long_about(
            "The words are joined and typed as one line, behind what waits there already; quote \
             what your own shell must not touch. Ends with the command's own exit code. Ctrl-C \
             ends the command; a second one leaves it. A terminal that is not there is made, in \
             the present folder; one that is there stays where its shell is.",
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
                .help("Interrupts the command at that age, such as 10m; exit code 124"),
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
        .about("Shows a terminal here, to type in it yourself")
        .long_about(
            "Ctrl-b d leaves it, and everything in it goes on. A terminal that is not there is \
             made, in the present folder. Works inside a tmux of your own too.",
        )
        .after_help(examples(&[
            "hob terminal attach",
            "hob terminal attach build",
        ]))
        .arg(name())
}

fn capture() -> Command {
    Command::new("capture")
        .about("Prints what a terminal shows, and the lines before")
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
                .help("Lines before those on the screen; 100 when missing"),
        )
}

fn history() -> Command {
    Command::new("history")
        .about("Lists the commands of a terminal, the newest last")
        .long_about(
            "By says who: 'you' typed it in the terminal, 'client' sent it from outside, 'model' \
             asked for it and was allowed to. With --id, one command and what it printed.",
        )
        .after_help(examples(&[
            "hob terminal history",
            "hob terminal history build -n 200",
            "hob terminal history --id 3f9a01cc",
        ]))
        .arg(name().help("The terminal; all of them when missing"))
        .arg(
            Arg::new("lines")
                .long("lines")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1_000))
                .help("How many; 50 when missing"),
        )
        .arg(id().conflicts_with_all(["name", "lines"]))
}

fn keys() -> Command {
    Command::new("keys")
        .about("Types into whatever runs in a terminal")
        .long_about(
            "The text is typed letter by letter; then the keys are pressed, by name: Enter, Tab, \
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
                .help("Typed as it is; nothing in it is the name of a key"),
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
        .about("Ends what hob runs in a terminal, and drops what waits")
        .long_about(
            "What runs is interrupted, and killed if it does not heed that. Your own commands \
             stay: Ctrl-C in the terminal ends them.",
        )
        .after_help(examples(&[
            "hob terminal cancel",
            "hob terminal cancel build",
            "hob terminal cancel --id 3f9a01cc",
        ]))
        .arg(name())
        .arg(id().help("Only this command, by its id or the end of it"))
}

fn open() -> Command {
    Command::new("open")
        .about("Opens a window of your desktop on a terminal")
        .long_about(
            "The program is the setting terminal.window, or the first there is of foot, kitty, \
             alacritty, gnome-terminal, konsole, xfce4-terminal, terminator and xterm. A window \
             that is open already stays; closing it leaves the terminal.",
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
                .help("The program that shows it"),
        )
        .arg(
            Arg::new("another")
                .long("another")
                .action(ArgAction::SetTrue)
                .help("One more, even if one is open"),
        )
}

fn close() -> Command {
    Command::new("close")
        .about("Closes a terminal with what runs in it, or only its windows")
        .long_about(
            "Asks first if something runs there. Windows that others opened on it close with it, \
             since there is nothing left to show.",
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
                .help("Only the windows hob opened on it; the terminal stays"),
        )
        .arg(
            Arg::new("yes")
                .long("yes")
                .short('y')
                .action(ArgAction::SetTrue)
                .help("Closes it even if something runs"),
        )
}

fn name() -> Arg {
    Arg::new("name")
        .value_name("NAME")
        .help("The terminal; main when missing")
}

fn terminal() -> Arg {
    Arg::new("name")
        .long("terminal")
        .short('t')
        .value_name("NAME")
        .help("The terminal; main when missing")
}

fn id() -> Arg {
    Arg::new("id")
        .long("id")
        .value_name("ID")
        .help("One command, by its id or the end of it that the list shows")
}
