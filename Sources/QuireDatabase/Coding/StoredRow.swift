// The bytes of a row, as the row tree holds them under the row's id. All numbers little-endian.
//
//     byte 0         1 if the row has metadata, else 0; other bits are errors
//     bytes 1 to 4   the collection's id
//     bytes 5 to 6   the length of the key in bytes
//     bytes 7 to 10  the length of the stored metadata; there only if the row has some
//     then           the key in UTF-8, the stored metadata, the stored object to the end
//
// Metadata stands in front of the object, so that it can be read without a long object behind it. "Stored" is the form
// of `ValueCompression`.

/// The parts of a stored row, checked; they point into the row and are good as long as that is.
@safe struct RowView {
  let collection: CollectionID
  let key: UnsafeRawBufferPointer
  let metadata: UnsafeRawBufferPointer?
  let object: UnsafeRawBufferPointer

  /// Whether the row has metadata.
  var hasMetadata: Bool { unsafe metadata != nil }

  /// The bytes in front of key, metadata and object.
  static let headerByteCount = 7
  static let metadataLengthByteCount = 4

  /// Takes a row apart. `bytes` may be anything, and may end inside the object.
  init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    let frame = unsafe RowFrame(bytes)
    guard let frame, frame.objectOffset <= bytes.count else { throw RowView.damaged() }
    collection = frame.collection
    unsafe key = UnsafeRawBufferPointer(rebasing: bytes[frame.keyOffset..<frame.metadataOffset])
    unsafe metadata =
      frame.hasMetadata ? UnsafeRawBufferPointer(rebasing: bytes[frame.metadataOffset..<frame.objectOffset]) : nil
    unsafe object = UnsafeRawBufferPointer(rebasing: bytes[frame.objectOffset...])
  }

  /// The error for a row that breaks the format.
  static func damaged() -> DatabaseError {
    DatabaseError(.damagedRow, "A stored row breaks the format. Verify the database, and restore it from a backup.")
  }
}

/// Where the parts of a row begin, as its first bytes say.
struct RowFrame {
  let collection: CollectionID
  let hasMetadata: Bool
  let keyOffset: Int
  let metadataOffset: Int
  let objectOffset: Int

  /// Reads the first bytes of a row; nil if they make no sense. That the row is as long as they say is not checked.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= RowView.headerByteCount else { return nil }
    let flags = unsafe bytes[0]
    guard flags <= 1 else { return nil }
    hasMetadata = flags == 1
    collection = CollectionID(unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
    let keyCount = unsafe Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt16.self)))
    var offset = RowView.headerByteCount
    var metadataCount = 0
    if hasMetadata {
      guard bytes.count >= offset + RowView.metadataLengthByteCount else { return nil }
      metadataCount = unsafe Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      offset += RowView.metadataLengthByteCount
    }
    keyOffset = offset
    metadataOffset = offset + keyCount
    objectOffset = offset + keyCount + metadataCount
  }
}

/// Puts a row together, in a buffer that is used again and again.
struct RowBuilder {
  private(set) var bytes: [UInt8] = []
  private var metadataStart = 0

  /// Begins a row. If it is to have metadata, these are appended first. Its collection is set at the end.
  mutating func begin(key: String, hasMetadata: Bool) {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(hasMetadata ? 1 : 0)
    append(UInt32(0))
    append(UInt16(truncatingIfNeeded: key.utf8.count))
    if hasMetadata { append(UInt32(0)) }
    bytes.append(contentsOf: key.utf8)
    metadataStart = bytes.count
  }

  /// Begins one half of a row alone.
  mutating func beginHalf() {
    bytes.removeAll(keepingCapacity: true)
    metadataStart = 0
  }

  /// Sets the row's collection.
  mutating func setCollection(_ collection: CollectionID) {
    for index in 0..<CollectionID.byteCount {
      bytes[1 + index] = UInt8(truncatingIfNeeded: collection.rawValue >> UInt32(8 * index))
    }
  }

  /// Becomes the row `old` with another half; without bytes in `part` it has no metadata any more.
  mutating func replace(
    _ half: RowHalves, of old: RowView, _ collection: CollectionID, _ key: String, with part: borrowing RowBuilder
  ) {
    let isObject = half == .object
    begin(key: key, hasMetadata: unsafe isObject ? old.metadata != nil : !part.bytes.isEmpty)
    setCollection(collection)
    if isObject {
      if let metadata = unsafe old.metadata { unsafe append(storedMetadata: metadata) }
      bytes.append(contentsOf: part.bytes)
    } else {
      if !part.bytes.isEmpty {
        bytes.append(contentsOf: part.bytes)
        endMetadata()
      }
      unsafe bytes.append(contentsOf: old.object)
    }
  }

  /// Appends the stored form of encoded metadata, or of an encoded object.
  mutating func append(_ value: RawSpan, _ compression: Compression) throws(CompressionError) {
    try ValueCompression.encode(value, compression, appendingTo: &bytes)
  }

  /// Appends an object in its stored form.
  mutating func append(stored object: UnsafeRawBufferPointer) { unsafe bytes.append(contentsOf: object) }

  /// Appends the stored form of a value, compressed with `dictionary`; nothing, and false, if that saves too little.
  mutating func append(_ value: RawSpan, _ dictionary: CompressionDictionary, _ stream: CompressionStream) -> Bool {
    ValueCompression.encode(value, dictionary, stream, appendingTo: &bytes)
  }

  /// Appends the stored form of a value, compressed; nothing, and false, if that saves nothing.
  mutating func append(compressing value: RawSpan) -> Bool {
    ValueCompression.encode(compressing: value, appendingTo: &bytes)
  }

  /// Appends what `body` does.
  mutating func append(_ body: (inout [UInt8]) throws -> Void) rethrows { try body(&bytes) }

  /// Appends metadata in their stored form.
  mutating func append(storedMetadata metadata: UnsafeRawBufferPointer) {
    unsafe bytes.append(contentsOf: metadata)
    endMetadata()
  }

  /// Notes that the metadata are complete; does nothing in a part.
  mutating func endMetadata() {
    guard metadataStart > 0 else { return }
    assert(bytes.first == 1 && bytes.count >= metadataStart, "a row without metadata has some")
    let count = UInt32(truncatingIfNeeded: bytes.count - metadataStart)
    for index in 0..<RowView.metadataLengthByteCount {
      bytes[RowView.headerByteCount + index] = UInt8(truncatingIfNeeded: count >> UInt32(8 * index))
    }
  }

  private mutating func append(_ value: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}
