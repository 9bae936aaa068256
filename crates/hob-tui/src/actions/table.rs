//! The table of actions. A flat list: one row for each thing a person can do.

/// Where an action is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// On every screen; it shares its keys with no other place.
    Everywhere,
    /// The message being written.
    Composer,
    /// The conversation above the message.
    Chat,
    /// A question that has the keys.
    Card,
    /// A list: sessions, palette, choices.
    List,
}

impl Context {
    /// Returns true if both could act on one key.
    pub fn overlaps(self, other: Context) -> bool {
        use Context::{Chat, Composer, Everywhere};
        self == other
            || self == Everywhere
            || other == Everywhere
            || matches!((self, other), (Composer, Chat) | (Chat, Composer))
    }

    /// Its heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Context::Everywhere => "Everywhere",
            Context::Composer => "Writing a message",
            Context::Chat => "The conversation",
            Context::Card => "A question",
            Context::List => "Lists",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    pub action: Action,
    /// The name in keymap files.
    pub name: &'static str,
    /// What it does, for people.
    pub title: &'static str,
    pub context: Context,
    /// The keys of the preset `hob`.
    pub keys: &'static [&'static str],
    /// The slash command, with the name of its argument.
    pub slash: Option<&'static str>,
}

macro_rules! actions {
    ($($context:ident { $($action:ident $name:literal $title:literal [$($key:literal),*] $($slash:literal)?;)* })*) => {
        /// A thing that a person can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action { $($($action,)*)* }

        /// Every action, in the order of help and palette.
        pub const ACTIONS: &[ActionSpec] = &[$($(ActionSpec {
            action: Action::$action,
            name: $name,
            title: $title,
            context: Context::$context,
            keys: &[$($key),*],
            slash: actions!(@slash $($slash)?),
        },)*)*];
    };
    (@slash) => { None };
    (@slash $slash:literal) => { Some($slash) };
}

actions! {
    Everywhere {
        Palette "palette" "Find an action by name" ["ctrl-p"];
        Help "help" "Show the keys and commands" ["f1"] "help";
        Quit "quit" "Leave; running work goes on" ["ctrl-q"] "quit";
        Suspend "suspend" "Suspend to the shell" ["ctrl-z"];
        Redraw "redraw" "Draw the screen anew" ["ctrl-l"];
        ShowChat "screen-chat" "Show the conversation" ["alt-1"] "chat";
        ShowSessions "screen-sessions" "Show the sessions" ["alt-2"] "sessions";
        ShowServices "screen-services" "Show the services" ["alt-3"] "services";
        ShowRuns "screen-runs" "Show the runs" ["alt-4"] "runs";
        ShowCosts "screen-costs" "Show costs by day and model" ["alt-5"] "cost";
        ShowPermissions "screen-permissions" "Show the stored rules" ["alt-6"] "permissions";
        ShowModels "screen-models" "Show the models" ["alt-7"] "models";
        ShowDoctor "screen-doctor" "Show what the daemon's checks find" ["alt-9"] "doctor";
        ShowAbout "screen-about" "Show the daemon's state" ["alt-0"] "about";
        ChooseModel "choose-model" "Choose a first model" [] "onboard";
        NewSession "new-session" "Start a new conversation" ["ctrl-n"] "new";
        Fork "fork" "Copy this conversation into a new one" [] "fork";
        SetModel "model" "Set the model of this conversation" [] "model NAME";
        NextTheme "theme" "Use the next theme, or the named one" [] "theme NAME";
        ToggleMouse "mouse" "Release or capture the mouse" ["alt-m"] "mouse";
        FocusQuestion "answer" "Go to the question, or back to the message" ["alt-a"];
    }
    Composer {
        Send "send" "Send the message; a working run reads it at its next step" ["enter"];
        Queue "queue" "Send the message after the current run" ["alt-q"];
        Newline "newline" "Break the line" ["alt-enter", "shift-enter", "ctrl-j"];
        Complete "complete" "Complete a command or a file" ["tab"];
        Cancel "stop" "Stop the run, or clear the message; twice: leave" ["ctrl-c"] "stop";
        Escape "escape" "Close what is open, or stop the run" ["esc"];
        HistorySearch "history-search" "Search the messages sent before" ["ctrl-r"];
        Editor "editor" "Write the message in $EDITOR" ["ctrl-x"] "editor";
        CursorLeft "cursor-left" "Move left" ["left", "ctrl-b"];
        CursorRight "cursor-right" "Move right" ["right", "ctrl-f"];
        CursorUp "cursor-up" "Move up, or to the message before" ["up"];
        CursorDown "cursor-down" "Move down, or to the message after" ["down"];
        WordLeft "word-left" "Move a word left" ["alt-b", "ctrl-left", "alt-left"];
        WordRight "word-right" "Move a word right" ["alt-f", "ctrl-right", "alt-right"];
        LineStart "line-start" "Move to the start of the line" ["ctrl-a", "home"];
        LineEnd "line-end" "Move to the end of the line" ["ctrl-e", "end"];
        DeleteLeft "delete-left" "Delete the letter to the left" ["backspace", "ctrl-h"];
        DeleteRight "delete-right" "Delete the letter to the right; leave if there is no message" ["delete", "ctrl-d"];
        DeleteWordLeft "delete-word-left" "Cut the word to the left" ["ctrl-w", "alt-backspace"];
        DeleteWordRight "delete-word-right" "Cut the word to the right" ["alt-d"];
        CutToEnd "cut-to-end" "Cut to the end of the line" ["ctrl-k"];
        CutToStart "cut-to-start" "Cut to the start of the line" ["ctrl-u"];
        Yank "paste-cut" "Paste what was cut" ["ctrl-y"];
    }
    Chat {
        PageUp "page-up" "Scroll a page up" ["pageup"];
        PageDown "page-down" "Scroll a page down" ["pagedown"];
        ScrollUp "scroll-up" "Scroll a row up" ["shift-up"];
        ScrollDown "scroll-down" "Scroll a row down" ["shift-down"];
        Top "top" "Go to the first message" ["ctrl-home"];
        Bottom "bottom" "Go to the last message and follow" ["ctrl-end"];
        FoldAll "fold-all" "Fold or unfold thinking and outputs" ["ctrl-o"] "fold";
        PreviousBlock "previous-block" "Choose the foldable block above" ["alt-up"];
        NextBlock "next-block" "Choose the foldable block below" ["alt-down"];
        FoldBlock "fold-block" "Fold or unfold the chosen block" ["alt-o"];
        Search "search" "Search the conversation" ["ctrl-s"] "search TEXT";
        CopyAnswer "copy" "Copy the last answer" ["alt-c"] "copy";
        Transcript "transcript" "Show the plain conversation in $PAGER" ["ctrl-t"] "export";
    }
    Card {
        CardUp "card-up" "Scroll the question up" ["up", "pageup"];
        CardDown "card-down" "Scroll the question down" ["down", "pagedown"];
        AllowOnce "allow-once" "Allow this call" ["y"];
        Deny "deny" "Deny this call" ["n"];
        AllowRun "allow-run" "Allow such calls in this run" ["r"];
        AllowSession "allow-session" "Allow such calls in this session" ["s"];
        AllowFolder "allow-folder" "Allow such calls in this folder" ["f"];
        AllowAlways "allow-always" "Always allow such calls" ["a"];
        Happened "happened" "A call in doubt: it happened" ["h"];
        DidNotHappen "did-not-happen" "A call in doubt: it did not; run it again" ["d"];
        GiveUp "give-up" "A call in doubt: give the run up" ["g"];
        MoreMoney "more-money" "A used-up budget: allow more" ["m"];
        CardStop "stop-asking-run" "Stop the run that asks" ["x", "ctrl-c"];
        CardLater "later" "Answer later" ["l", "esc"];
    }
    List {
        ListUp "list-up" "Go up" ["up"];
        ListDown "list-down" "Go down" ["down"];
        ListPageUp "list-page-up" "Go a page up" ["pageup"];
        ListPageDown "list-page-down" "Go a page down" ["pagedown"];
        ListChoose "list-choose" "Take the chosen row" ["enter"];
        ListBack "list-back" "Go back" ["esc", "ctrl-c"];
        ListToggle "list-toggle" "Start or stop the chosen row" ["tab"];
    }
}

impl Action {
    /// Its row in the table.
    pub fn spec(self) -> &'static ActionSpec {
        let mut specs = ACTIONS.iter();
        // Every action comes from a row.
        specs
            .find(|spec| spec.action == self)
            .unwrap_or(&ACTIONS[0])
    }

    pub fn named(name: &str) -> Option<Action> {
        let mut specs = ACTIONS.iter();
        specs.find(|spec| spec.name == name).map(|spec| spec.action)
    }
}
