//! History files: what is read, what is written, which file counts, and what a save leaves when it is cut short.

mod choosing;
mod odd_files;
#[cfg(unix)]
mod odd_folders;
mod purging;
mod reading;
mod round_trips;
mod saver;
mod saving;
mod services;
mod support;
