#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion_placement::fuzz_history(data));
