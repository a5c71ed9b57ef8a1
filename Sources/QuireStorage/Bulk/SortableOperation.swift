// Operations on keys, in a form that sorts fast: the beginning of the key stands in the operation itself.

internal import CQuirePlatform

/// A put or a delete whose bytes lie somewhere else: in a log record, in a buffer of rows, in a block of a run.
///
/// The memory that it points to must stay as it is for as long as the operation is used.
package struct SortableOperation {
  /// The first eight bytes of the key as a big-endian number, padded with zeros; integer keys: the key in its ordered
  /// form. While operations whose keys begin alike are sorted, those behind what the keys share; see `OperationSorter`.
  package internal(set) var head: UInt64
  /// The key's first byte; for integer keys the value's.
  package let key: UnsafeRawPointer
  package let valueCount: UInt32
  /// The length of the key; 0 for integer keys.
  package let keyCount: UInt16
  /// How many bytes lie between key and value: what states the value's length, as a rule.
  package let gap: UInt8
  package let content: Content

  /// What an operation has for its key.
  package enum Content: UInt8 {
    /// Nothing: the entry goes.
    case none
    /// The value. Only some steps take one that does not fit beside its key; see `isLong`.
    case value
    /// A reference to the extent that holds the value.
    case extent
    /// A reference to the place in a temporary file that holds the value; see `RunFile`.
    case spilled
  }

  /// An operation on a byte-string key; a delete if there is no value. The value begins at most 255 bytes behind the
  /// key's end. Lengths must be within the limits of keys and values.
  @inline(__always) package init(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, content: Content = .value
  ) {
    // An empty buffer may have no address; nothing is read through this one.
    let base = key.baseAddress ?? value?.baseAddress ?? UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
    head = KeyOrder.longHead(base, key.count)
    self.key = base
    keyCount = UInt16(truncatingIfNeeded: key.count)
    valueCount = UInt32(truncatingIfNeeded: value?.count ?? 0)
    let distance = value?.baseAddress.map { $0 - (base + key.count) } ?? 0
    gap = UInt8(truncatingIfNeeded: distance)
    self.content = value == nil ? .none : content
  }

  /// An operation on an integer key; a delete if there is no value.
  @inline(__always) package init(key: UInt64, value: UnsafeRawBufferPointer?, content: Content = .value) {
    head = key
    self.key = value?.baseAddress ?? UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
    keyCount = 0
    valueCount = UInt32(truncatingIfNeeded: value?.count ?? 0)
    gap = 0
    self.content = value == nil ? .none : content
  }

  /// A put of copies of key and value, which are made at `place`, one behind the other.
  @inline(__always) init(
    _ key: SearchKey, _ value: UnsafeRawBufferPointer, _ content: Content, _ kind: KeyKind,
    copiedTo place: UnsafeMutableRawPointer
  ) {
    if key.count > 0 { place.copyMemory(from: key.base, byteCount: key.count) }
    let valuePlace = place + key.count
    if value.count > 0, let base = value.baseAddress { valuePlace.copyMemory(from: base, byteCount: value.count) }
    let copy = UnsafeRawBufferPointer(start: valuePlace, count: value.count)
    if kind == .int64 {
      self.init(key: key.integer, value: copy, content: content)
    } else {
      self.init(key: UnsafeRawBufferPointer(start: place, count: key.count), value: copy, content: content)
    }
  }

  /// Asks for the first cache lines of key and value.
  @inline(__always) func prefetch() {
    var offset = 0
    let end = min(Int(keyCount) &+ Int(gap) &+ Int(valueCount), 256)
    while offset < end {
      quire_prefetch(key + offset)
      offset &+= 64
    }
    // What begins in the middle of a line ends in one more.
    if end > 0 { quire_prefetch(key + (end &- 1)) }
  }

  /// Whether the entry goes.
  @inline(__always) package var isDelete: Bool { content == .none }

  /// Whether the operation has a value in memory that does not fit beside its key.
  @inline(__always) func isLong(entryLimit: Int) -> Bool {
    content == .value && Int(keyCount) &+ Int(valueCount) > entryLimit
  }

  /// The value's first byte.
  @inline(__always) var value: UnsafeRawPointer { key + Int(keyCount) + Int(gap) }

  /// The value's bytes, or those of the reference to it.
  @inline(__always) package var valueBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: value, count: Int(valueCount))
  }

  /// The same as a leaf's cell holds it.
  @inline(__always) var cellValue: CellValue { CellValue(valueBytes, isExtent: content == .extent) }

  /// The key as a search takes it.
  @inline(__always) package func searchKey(_ kind: KeyKind) -> SearchKey {
    kind == .int64 ? SearchKey(ordered: head) : SearchKey(base: key, count: Int(keyCount))
  }

  /// Negative, zero or positive as the key orders before, with or after that of `other`.
  @inline(__always) func order(relativeTo other: SortableOperation, hasIntegerKeys: Bool) -> Int {
    if head != other.head { return head < other.head ? -1 : 1 }
    if hasIntegerKeys { return 0 }
    // Equal heads may hide zeros behind a shorter key, so the lengths count even where all bytes stand in the head.
    return KeyOrder.compare(key, Int(keyCount), other.key, Int(other.keyCount))
  }
}
