//! br (RFC 7932), without the large windows that HTTP does not allow.

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

use super::{End, Sink, looks_like_text};

pub(super) fn brotli(body: &[u8], sink: &mut Sink) -> End {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut left, mut read, mut total) = (body.len(), 0, 0);
    let end = loop {
        sink.grow(body.len().saturating_mul(4));
        let mut written = sink.bytes.len();
        sink.bytes.resize(sink.bytes.capacity(), 0);
        let mut space = sink.bytes.len() - written;
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            body,
            &mut space,
            &mut written,
            &mut sink.bytes,
            &mut total,
            &mut state,
        );
        sink.bytes.truncate(written);
        if sink.is_over() {
            break End::Limit;
        }
        match result {
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::ResultSuccess => break End::Complete,
            BrotliResult::NeedsMoreInput => break End::Unfinished,
            BrotliResult::ResultFailure => break End::Corrupt,
        }
    };
    let failed = matches!(end, End::Corrupt | End::Unfinished);
    if failed && looks_like_text(body) {
        sink.bytes.clear();
        return End::Absent; // br has no magic number: failing text was never br
    }
    end
}
