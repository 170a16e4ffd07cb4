//! The body of the reader's fuzz target, which a property test runs on stable Rust.

use super::read::read_history;
use super::write::write_history;

/// Reads `data` as a history file. A readable history can be written, and reads back equal.
///
/// # Panics
/// If it cannot, which is what the fuzzer looks for.
#[doc(hidden)]
pub fn fuzz_history(data: &[u8]) {
    let Ok(first) = read_history(data) else {
        return;
    };
    let mut written = Vec::new();
    let outcome = write_history(&first.file, &mut written);
    assert!(outcome.is_ok(), "{outcome:?}");
    let second = read_history(&written);
    assert_eq!(second.as_ref().map(|again| &again.file), Ok(&first.file));
}
