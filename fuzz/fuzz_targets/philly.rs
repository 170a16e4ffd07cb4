#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion_bench::trace::fuzz::fuzz_philly(data));
