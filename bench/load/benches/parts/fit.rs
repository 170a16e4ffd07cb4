//! The fit test, on which every decision depends.

use std::hint::black_box;

use apportion::Resources;
use apportion::resource::{DeviceNeed, Need, Room, fits};
use criterion::Criterion;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fit");
    let all_types = [64; 8];
    let cases = [
        ("yes, 2 types", need(&[1_024, 100], None), room(&[131_072, 32_000], 0)),
        ("yes, 8 types", need(&all_types, None), room(&[100; 8], 0)),
        ("no, by the last type", need(&all_types, None), room(&[100, 100, 100, 100, 100, 100, 100, 63], 0)),
        ("yes, half of 2 devices", need(&[1_024, 100], Some(500)), room(&[131_072, 32_000], 8)),
    ];
    for (name, need, room) in cases {
        assert_eq!(fits(&need, &room), name.starts_with("yes"), "{name}");
        group.bench_function(name, |bencher| bencher.iter(|| fits(black_box(&need), black_box(&room))));
    }
    group.finish();
}

fn need(amounts: &[i64], milli: Option<u16>) -> Need {
    let devices = milli.map(|milli| DeviceNeed { count: 2, milli });
    Need { resources: Resources::new(amounts), devices }
}

fn room(amounts: &[i64], devices: u8) -> Room {
    Room::empty_node(Resources::new(amounts), devices)
}
