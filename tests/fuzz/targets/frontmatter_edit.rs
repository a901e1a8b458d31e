#![no_main]

libfuzzer_sys::fuzz_target!(
    |input: memdir_fuzz::FrontmatterEdit| memdir_fuzz::frontmatter_edit(input)
);
