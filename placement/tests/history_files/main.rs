//! History files: reading, writing, the choice of the newest file, and interrupted saves.

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
