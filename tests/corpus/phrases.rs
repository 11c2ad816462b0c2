//! Templates of prose: prompts, replies, thoughts, titles and errors. See `ink` for the slots.

pub(crate) const TITLES: &[&str] = &[
    "Fix %a %t %o in %b",
    "Add %t %o to %c",
    "Refactor %P and its %o",
    "Investigate %a %o in %t %o",
    "Speed up %t %o",
    "Migrate %t %o to %x",
    "Why does %c %v %a %o",
    "Write tests for %P",
    "%P: %v the %a %o",
    "Review %t %o handling",
    "Remove %a %t %o",
    "Plan the %t %o rewrite",
];

pub(crate) const HEADINGS: &[&str] = &[
    "summary",
    "what changed",
    "root cause",
    "%t %o",
    "next steps",
    "the %a %o",
    "how to test",
    "open questions",
    "%g the %o",
    "plan for %t",
    "findings",
    "risks",
];

pub(crate) const ERRORS: &[&str] = &[
    "error[E0%n]: cannot find value `%i` in this scope",
    "TypeError: Cannot read properties of undefined (reading '%c')",
    "%P not found in module '%x'",
    "panicked at '%i is %a', %f:%n:%n",
    "KeyError: '%i'",
    "AssertionError: expected %n %t but got %n",
    "ECONNREFUSED 127.0.0.1:%n while %g %c",
    "undefined: %c",
    "error TS2345: Argument of type '%P' is not assignable to parameter of type '%P'",
    "relation \"%i\" does not exist",
    "thread '%i' timed out after %ns",
    "ValueError: %a %o in %i",
    "Module not found: Error: Can't resolve './%k' in '%f'",
    "invalid %o: %K must not be %a",
];

/// Words before a noun, by frequency.
pub(crate) const ARTICLES: &[&str] =
    &["the", "a", "this", "each", "your", "that", "its", "any", "every", "one", "another", "our"];

/// Words between a noun and its predicate, by frequency.
pub(crate) const LINKS: &[&str] =
    &["is", "was", "gets", "stays", "becomes", "isn't", "seems", "remains", "should be", "has been"];

pub(crate) const CLAUSES: &[&str] = &[
    "%u %a %o %z %u %o",
    "%c %z before %u %t %m %y",
    "we %v %u %t %o",
    "%i is never %y",
    "%u %o of %u %t %m %a",
    "%P still %z %u %a %o",
    "there is no %o for %t",
    "nobody %z %c",
    "%u %t %o and %u %o are both %y",
    "%w %w %u %w %o",
    "%u %x %o %m %a",
    "it only %z when %i %m %a",
];

pub(crate) const SENTENCES: &[&str] = &[
    "%s.",
    "%s, because %s.",
    "%s, so %s.",
    "when %s, %s.",
    "The problem is that %s.",
    "I will %v %u %a %o first.",
    "Now %v `%i` in `%f`.",
    "`%c` %z %u %t %o, but %s.",
    "%w %l, and %l.",
    "If %s, then %s.",
    "This means that %s and that %l.",
    "Note that %s.",
    "The test for `%P` fails: %s.",
    "See `%f` for %u %a %t.",
    "We need to %v %u %o before %g %u %a %o.",
    "Both `%i` and `%i` %v %u %o.",
    "After %g %n %t %os, %s.",
    "%l: %s.",
    "The %o in `%f` was %y in version %V.",
    "It takes %d seconds to %v %n %os.",
    "Only %u %a %t %m %y here.",
    "Let me %v %u %o of `%c`.",
    "The %w %w of %u %t %w %l.",
    "Otherwise %s.",
    "%l (%s).",
    "There are %n %os that %v %u %t.",
    "Use `%c` instead of `%c`.",
    "`%K` decides whether %s.",
    "As %r noted on %D, %s.",
    "%w %w %w %l.",
];

pub(crate) const PROMPTS: &[&str] = &[
    "please %v the %t %o in %f. %S",
    "why does %c %v the %a %o? %S",
    "I get this: %e",
    "%S can you %v it?",
    "add a test for %c. %S",
    "%q. %S %S",
    "now %v the %o as well",
    "the %t %o is still %a, %s",
    "run the tests again, %s",
    "look at %j and tell me %s",
    "rename %c to %c everywhere. %S",
    "%S %S %S",
    "ok, go on",
    "commit this with a good message",
    "don't touch %f, only %v %c",
    "what is the difference between %P and %P?",
    "can we %v the %o without %x?",
    "%l. %s",
    "is there a %a way to %v %t?",
    "make %c %a and %v the docs",
    "revert the change to %f, %s",
    "yes",
    "in %f around line %n %s. %S",
    "I think %s. Please %v the %a %o and %v %i.",
    "continue",
];

pub(crate) const ASIDES: &[&str] = &[
    "also %v %c while you are there",
    "wait, %s",
    "and don't forget the %t %o in %f",
    "please use %x for the %o",
    "skip the %a %o, %s",
    "one more thing: %s",
    "the name should be %c, not %c",
];

pub(crate) const LEADS: &[&str] = &[
    "Let me look at `%f` first. %S",
    "Now I'll %v the %o. %S",
    "I'll check how `%c` %z the %o.",
    "The %o is clear now. %S",
    "Good, %s. %S",
    "Let me run the tests.",
    "%S",
    "%S %S",
    "%S %S",
    "Next, the %t %o.",
    "That failed: %e. %S",
    "Found it: %s.",
    "Let me %v `%i`.",
    "Now `%f`:",
    "%S Let me verify.",
    "The tests pass. %S",
];

pub(crate) const THOUGHTS: &[&str] = &[
    "The user wants to %v the %t %o. %S %S",
    "Let me think about %c. %S %S %S",
    "%S %S",
    "Hmm, %s. %S But %s. %S",
    "So `%e` comes from %f. %S",
    "%S Maybe %s? No, %s. %S",
    "I should first %v the %o, then %v %i. %S",
    "%S %S %S %S %S",
];

pub(crate) const TASKS: &[&str] = &[
    "%v the %t %o",
    "find all callers of %c",
    "%v %f",
    "check whether %s",
    "write a test for %P",
    "update the docs for %t",
    "remove the %a %o",
    "run the %t tests",
    "measure how %c %z",
    "review the %a %o",
];

pub(crate) const REMINDERS: &[&str] = &[
    "The task list has not been used for a while. Consider updating it if the work has several steps.",
    "Check what this file is for before changing it, and say so when something in it looks harmful.",
    "The file was changed outside of this session, either by the user or by a formatter. Take it into account.",
    "Additional context from the hook: run the formatter before you finish.",
];
