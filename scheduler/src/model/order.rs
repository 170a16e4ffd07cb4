//! Counts the orders of the model that is being checked, and records the one in which a thread panics.
//!
//! A panic hook writes the record, because a model whose threads hold locks may abort the process while it unwinds.
#![allow(clippy::disallowed_types, reason = "the panic hook belongs to the process and not to a model")]

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use thiserror::Error;

use super::Checker;
use super::cargo;

/// Loom's progress is saved before each hundredth order. A replay starts at the last one saved, and saves the
/// failing order itself.
pub(super) const SAVED_EVERY: u64 = 100;

/// An order in which a thread panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Counted from 1; under shuttle also the seed.
    pub(super) number: u64,
    /// How many orders a checker runs from its saved progress before it comes to this one.
    pub(super) before: u64,
}

/// No order can be replayed.
#[derive(Debug, Error)]
#[error("no failing order of this model is recorded in {}; check the model first ({cause})", path.display())]
pub(super) struct NotRecorded {
    path: PathBuf,
    cause: io::Error,
}

/// Where the failing order of one model is recorded.
#[derive(Clone, Debug)]
pub(super) struct Place {
    folder: PathBuf,
    name: String,
}

impl Place {
    pub(super) fn of(model: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name = model.chars().map(plain).collect();
        Self { folder: cargo::target_folder().join("orders").join(Checker::BUILT.name()), name }
    }

    fn record(&self) -> PathBuf {
        self.file("txt")
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    /// Loom's saved progress.
    #[cfg(apportion_loom)]
    pub(super) fn progress(&self) -> PathBuf {
        self.file("json")
    }

    /// Makes the folder, and forgets an earlier failure.
    fn clear(&self) {
        for ending in ["txt", "json"] {
            // A file that is not there need not be removed.
            let _ = fs::remove_file(self.file(ending));
        }
        if let Err(error) = fs::create_dir_all(&self.folder) {
            panic!("the folder {} for failing orders cannot be made: {error}", self.folder.display());
        }
    }

    /// Whether the program was built after the order failed.
    pub(super) fn is_older_than_the_program(&self) -> bool {
        let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        let program = std::env::current_exe().ok().and_then(|program| changed(&program));
        program > changed(&self.record())
    }

    pub(super) fn recorded(&self) -> Result<Order, NotRecorded> {
        read(&self.record()).map_err(|cause| NotRecorded { path: self.record(), cause })
    }
}

fn read(path: &Path) -> io::Result<Order> {
    let text = fs::read_to_string(path)?;
    let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[number, before]) => Ok(Order { number, before }),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the file is not a recorded order")),
    }
}

/// The model that this thread checks. All threads of a model run on one thread of the operating system.
struct Present {
    model: String,
    place: Place,
    /// The order that is run again.
    failing: Option<Order>,
    /// The orders begun in this run.
    count: u64,
}

impl Present {
    fn order(&self) -> Order {
        if Checker::BUILT != Checker::Loom {
            // Any seed can be run alone.
            return Order { number: self.failing.map_or(self.count, |failing| failing.number), before: 0 };
        }
        match self.failing {
            // A replay saves each order.
            Some(failing) => Order { number: failing.number - 1 - failing.before + self.count, before: 0 },
            None if self.count >= SAVED_EVERY => {
                Order { number: self.count, before: self.count % SAVED_EVERY }
            }
            None => Order { number: self.count, before: self.count.saturating_sub(1) },
        }
    }
}

thread_local! {
    static PRESENT: RefCell<Option<Present>> = const { RefCell::new(None) };
}

/// Begins a run of all orders, or of the failing one.
pub(super) fn begin(model: &str, place: &Place, failing: Option<Order>) {
    static INSTALLED: Once = Once::new();
    PRESENT.set(Some(Present { model: model.to_owned(), place: place.clone(), failing, count: 0 }));
    if Checker::BUILT == Checker::Once {
        return;
    }
    if failing.is_none() {
        place.clear();
    }
    INSTALLED.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            record();
            earlier(info);
        }));
    });
}

/// Counts the next order.
pub(super) fn next() {
    PRESENT.with_borrow_mut(|present| present.iter_mut().for_each(|present| present.count += 1));
}

/// Ends a run without a failure, and returns the number of orders run. A panic that the model caught is not a failure,
/// so its record is removed. The record of a replayed order stays.
pub(super) fn end() -> u64 {
    let Some(present) = PRESENT.take() else { return 0 };
    if present.failing.is_none() && Checker::BUILT != Checker::Once {
        let _ = fs::remove_file(present.place.record());
    }
    present.count
}

fn record() {
    PRESENT.with_borrow(|present| {
        let Some(present) = present else { return };
        let Order { number, before } = present.order();
        eprintln!("{}: a thread panics in order {number}", present.model);
        let path = present.place.record();
        if let Err(error) = fs::write(&path, format!("{number} {before}\n")) {
            eprintln!("the order cannot be recorded in {}: {error}", path.display());
        }
    });
}
