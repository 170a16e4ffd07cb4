#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion::replay::fuzz_log(data));
