#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| apportion_formats::toml::fuzz_toml(data));
