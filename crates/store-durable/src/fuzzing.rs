//! The decoders of files, for fuzz targets. Each accepts arbitrary bytes, and panics if an invariant is violated. Checksums are
//! recomputed, so that the code behind them is reached.

use kubewright_store::Payload;

use crate::format::{
    PAGE,
    checkpoint::{BLOCK_HEADER, BlockHeader, CheckpointHeader},
    cursor::Cursor,
    frame::{FrameHeader, HEADER, read_frame, seal_frame},
    identity::Identity,
    record::{self, Record, encode_compact, encode_delete, encode_put},
    segment::SegmentHeader,
};

/// Decodes the bytes as records, which must round-trip, and as a frame that contains them.
pub fn log(data: &[u8]) {
    let mut cursor = Cursor::new(data);
    let mut records = 0;
    let mut again = Vec::new();
    let mut consumed = 0;
    while let Some(record) = record::decode(&mut cursor) {
        records += 1;
        consumed = data.len() - cursor.left();
        encode(&mut again, &record);
    }
    // Unused flags of a record are not encoded again.
    assert_eq!(again.len(), consumed, "a record changes its length");
    let mut header = FrameHeader {
        payload_len: 0,
        payload_sum: 0,
        records,
        flags: 0,
        number: 7,
        first_revision: kubewright_store::Revision(1),
        chain: 0,
        durable_up_to: 0,
        time: 0,
    };
    let salt = data
        .first_chunk()
        .map_or(0, |salt| u64::from_le_bytes(*salt));
    let mut frame = vec![0; HEADER];
    frame.extend_from_slice(data);
    let chain = seal_frame(&mut frame, &mut header, salt);
    let read = read_frame(&frame, salt).expect("the frame that was written");
    assert_eq!(
        (&read.header, read.payload, read.chain),
        (&header, data, chain)
    );
    // Bytes from clients must not be accepted as a frame.
    assert!(read_frame(data, salt).is_none_or(|frame| frame.len <= data.len()));
    if let Some(page) = data.get(..PAGE)
        && let Ok(segment) = SegmentHeader::decode(page)
    {
        assert_eq!(SegmentHeader::decode(&segment.encode()), Ok(segment));
    }
}

/// Decodes the bytes as a checkpoint's header, as a block, and as the file `STORE`.
pub fn files(data: &[u8]) {
    if let Ok(header) = CheckpointHeader::decode(data) {
        assert_eq!(CheckpointHeader::decode(&header.encode()), Ok(header));
    }
    if let Some((head, packed)) = data.split_at_checked(BLOCK_HEADER) {
        read_block(head, packed);
    }
    let packed = lz4_flex::block::compress(data);
    let numbers = [
        data.len(),
        packed.len(),
        crc32fast::hash(&packed) as usize,
        0,
    ];
    let head = numbers.map(|number| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    read_block(&head.concat(), &packed);
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(identity) = Identity::parse(text)
    {
        assert_eq!(Identity::parse(&identity.encode()), Some(identity));
    }
}

fn read_block(head: &[u8], packed: &[u8]) {
    if let Ok(Some(header)) = BlockHeader::decode(head) {
        let mut objects = 0;
        if let Ok(read) = header.read(packed, |_| objects += 1) {
            assert_eq!(read, objects);
        }
    }
}

fn encode(out: &mut Vec<u8>, record: &Record) {
    match record {
        Record::Put {
            key,
            object,
            created,
        } => {
            let payload = Payload {
                revision_at: object.revision_at,
                ..Payload::plain(object.bytes.clone())
            };
            encode_put(out, key, &payload, object.lifetime, *created);
        }
        Record::Delete { key, expired } => encode_delete(out, key, *expired),
        Record::Compact(floor) => encode_compact(out, *floor),
    }
}
