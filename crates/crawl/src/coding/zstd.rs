//! zstd (RFC 8878, RFC 9659).

use std::cell::RefCell;

use zstd::zstd_safe::{
    DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_frame_content_size,
};

use super::{End, Sink};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// HTTP allows windows of 8 MiB; a frame without a window of its own needs one of its size.
const WINDOW_LOG: std::ops::RangeInclusive<u32> = 23..=27;

thread_local! {
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

pub(super) fn zstd(body: &[u8], sink: &mut Sink) -> End {
    if !is_frame(body) {
        return End::Absent;
    }
    CONTEXT.with_borrow_mut(|context| {
        if fast(context, body, sink) {
            return End::Complete;
        }
        stream(context, body, sink)
    })
}

/// One frame that states a size within the limit is decoded in one call.
fn fast(context: &mut DCtx<'_>, body: &[u8], sink: &mut Sink) -> bool {
    let Ok(Some(size)) = get_frame_content_size(body) else { return false };
    if size > sink.limit as u64 {
        return false;
    }
    let mut out = Vec::with_capacity(size as usize);
    if context.decompress(&mut out, body).is_err() {
        return false;
    }
    sink.bytes = out;
    true
}

fn stream(context: &mut DCtx<'_>, body: &[u8], sink: &mut Sink) -> End {
    let window_log = sink.limit.checked_ilog2().unwrap_or(0) + 1;
    let window_log = window_log.clamp(*WINDOW_LOG.start(), *WINDOW_LOG.end());
    let ready = context
        .reset(ResetDirective::SessionOnly)
        .and_then(|_| context.set_parameter(DParameter::WindowLogMax(window_log)));
    if ready.is_err() {
        return End::Corrupt;
    }
    let mut input = InBuffer::around(body);
    loop {
        sink.grow(body.len().saturating_mul(4));
        let written = sink.bytes.len();
        let mut output = OutBuffer::around_pos(&mut sink.bytes, written);
        let result = context.decompress_stream(&mut output, &mut input);
        let full = output.pos() == output.capacity();
        if sink.is_over() {
            return End::Limit;
        }
        match result {
            Err(_) => return End::Corrupt,
            Ok(0) if !is_frame(&body[input.pos()..]) => return End::Complete,
            Ok(hint) if hint > 0 && input.pos() == body.len() && !full => return End::Unfinished,
            Ok(_) => {}
        }
    }
}

/// A frame of data, or one of the skippable kind.
fn is_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}
