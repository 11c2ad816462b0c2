//! One test for each bug that was found. The comment says what once went wrong, the name says what is true now.

mod reading;
mod search;
mod copies;
mod titles;
mod subagents;
mod prompt_history;
mod forget;
mod crash;
