// The log record of a transaction while it grows.

/// Operations of one transaction, encoded as they happen, with room in front for the record's header.
///
/// Keys and values are copied in before a tree is touched, so that a caller may put a value that it has just borrowed
/// from a page: the tree is then changed from the copy.
///
/// A buffer that streams hands itself over each time that the next operation would make it too long. What it holds is
/// then appended to the log as a part, and the buffer is empty again. Positions count the bytes of all bodies of the
/// transaction, those of parts included, so that a savepoint may lie in a part that is out already.
///
/// Invariants:
/// 1. `streamedByteCount` is the length of the `partCount` bodies that are out; both are 0 without parts.
/// 2. If `hasUndo` is set, the body begins with an undo position, which is below `streamedByteCount`.
/// 3. A record that was given up holds no more than the last operations, and its parts are void.
package final class LogBuffer {
  @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  /// Bytes of operations so far.
  @exclusivity(unchecked) package private(set) var bodyByteCount = 0
  /// Whether the record was given up, as too long or for want of room: the transaction commits by checkpoint.
  @exclusivity(unchecked) package private(set) var isGivenUp = false
  /// The length beyond which the next operation takes the slow way: a part is due, or the record is given up.
  @exclusivity(unchecked) private var bodyLimit = Limits.recordBodyByteCount
  /// How many parts of the transaction have been appended.
  @exclusivity(unchecked) package private(set) var partCount = 0
  /// The bytes of their bodies: the position of this body's first byte.
  @exclusivity(unchecked) package private(set) var streamedByteCount = 0
  /// Whether the body begins with an undo position.
  @exclusivity(unchecked) package private(set) var hasUndo = false
  /// How long a body becomes before it goes out as a part.
  @exclusivity(unchecked) package var partByteCount = Limits.recordBodyByteCount
  /// How many loans of bytes in pages the transaction's user has; nil if that is unknown.
  package var loanCount: UnsafePointer<Int>?
  /// Appends the body as a part; false if that cannot be.
  private var appendPart: (() -> Bool)?

  private static let initialCapacity = 64 << 10
  /// What a buffer keeps between transactions; a larger one is given back.
  private static let keptCapacity = 4 << 20

  /// An empty record with room for small transactions.
  package init() {
    capacity = Self.initialCapacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Calls `appendPart` when the body is about to exceed `partByteCount`. It appends the body, or returns false,
  /// which gives the record up. It is called between operations, and must not add any.
  package func stream(by appendPart: @escaping () -> Bool) { self.appendPart = appendPart }

  /// Starts a new transaction's record.
  package func reset() {
    isGivenUp = false
    bodyLimit = min(partByteCount, Limits.recordBodyByteCount)
    forgetParts()
    empty()
  }

  /// Where the next operation goes, counted over all bodies of the transaction.
  @inline(__always) package var position: Int { streamedByteCount &+ bodyByteCount }

  /// Whether the transaction has done anything that a record would hold.
  package var isEmpty: Bool { position == 0 && !isGivenUp }

  private func forgetParts() {
    partCount = 0
    streamedByteCount = 0
    hasUndo = false
  }

  private func empty() {
    bodyByteCount = 0
    guard capacity > Self.keptCapacity else { return }
    memory.deallocate()
    capacity = Self.initialCapacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  /// Takes back everything behind `position`. A record that was given up stays so.
  ///
  /// What is in a part that is out stays there: the next record says that it is void from there on. Parts of which
  /// nothing remains are forgotten, which makes them void as a whole.
  @inline(__always) package func truncate(to position: Int) {
    if isGivenUp { return }
    if position < streamedByteCount { return undo(to: position) }
    assert(position <= self.position, "a record is truncated to behind its end")
    bodyByteCount = max(position &- streamedByteCount, hasUndo ? LogLayout.undoByteCount : 0)
  }

  @inline(never) private func undo(to position: Int) {
    assert(position >= 0 && position < streamedByteCount, "an undo position lies in a part that is out")
    bodyByteCount = 0
    if position == 0 { return forgetParts() }
    hasUndo = true
    cursor.storeBytes(of: UInt64(position), as: UInt64.self)
    bodyByteCount = LogLayout.undoByteCount
  }

  /// Where the next operation goes; valid after `reserve`.
  @inline(__always) private var cursor: UnsafeMutableRawPointer {
    memory + LogLayout.headerByteCount + bodyByteCount
  }

  /// Makes room for an operation: by streaming what is there, or, if that cannot be, by giving the record up.
  @inline(__always) func reserve(_ byteCount: Int) {
    if isFull(for: byteCount) { overflow(byteCount) }
    makeRoom(byteCount)
  }

  @inline(__always) private func isFull(for byteCount: Int) -> Bool { bodyByteCount &+ byteCount > bodyLimit }

  @inline(never) private func overflow(_ byteCount: Int) {
    if position + byteCount > Limits.recordBodyByteCount { giveUp() }
    // An operation longer than a part makes a longer part.
    if !isGivenUp, bodyByteCount > 0, appendPart?() != true { giveUp() }
    if isGivenUp { return empty() }
    assert(!hasUndo || bodyByteCount >= LogLayout.undoByteCount, "an undo position is cut")
    if bodyByteCount == 0 { return }
    partCount += 1
    streamedByteCount += bodyByteCount
    hasUndo = false
    bodyByteCount = 0
  }

  /// Gives the record up: the transaction commits by checkpoint, and its parts are void. What an operation that goes on
  /// was given stays in the buffer until the next one.
  package func giveUp() {
    isGivenUp = true
    // From now on each operation takes the slow way and empties the buffer.
    bodyLimit = -1
    forgetParts()
  }

  @inline(__always) private func makeRoom(_ byteCount: Int) {
    // Behind the body there is always room for padding and trailer.
    let needed = LogLayout.headerByteCount + bodyByteCount + byteCount + 8 + LogLayout.trailerByteCount
    if needed > capacity { grow(to: needed) }
  }

  @inline(never) private func grow(to needed: Int) {
    assert(needed > capacity, "a buffer grows that has room")
    let newCapacity = max(needed, capacity * 2)
    let newMemory = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    newMemory.copyMemory(from: memory, byteCount: LogLayout.headerByteCount + bodyByteCount)
    memory.deallocate()
    memory = newMemory
    capacity = newCapacity
  }

  @inline(__always) func appendByte(_ byte: UInt8) {
    assert(LogLayout.headerByteCount + bodyByteCount < capacity, "a byte is appended without room")
    cursor.storeBytes(of: byte, as: UInt8.self)
    bodyByteCount &+= 1
  }

  @inline(__always) func appendVarint(_ value: UInt64) {
    bodyByteCount &+= Varint.write(value, to: cursor)
  }

  @inline(__always) func appendBytes(_ base: UnsafeRawPointer, _ count: Int) -> Int {
    appendVarint(UInt64(count))
    assert(LogLayout.headerByteCount + bodyByteCount + count <= capacity, "bytes are appended without room")
    let offset = bodyByteCount
    if count > 0 { cursor.copyMemory(from: base, byteCount: count) }
    bodyByteCount &+= count
    return offset
  }

  /// Copies of what an operation was given, inside the buffer; valid until the next operation.
  package struct Copy {
    package let key: SearchKey
    package let value: UnsafeRawBufferPointer
  }

  @inline(__always) func copied(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + LogLayout.headerByteCount + offset, count: count)
  }

  /// Notes a put; returns the copies to work with.
  @inline(__always) package func put(
    _ tree: TreeID, _ kind: KeyKind, _ key: SearchKey, _ value: UnsafeRawBufferPointer
  ) -> Copy {
    let byteCount = 1 &+ 3 &* Varint.maximumByteCount &+ key.count &+ value.count
    if isFull(for: byteCount) { return putBehindPart(tree, kind, key, value) }
    makeRoom(byteCount)
    return encodePut(tree, kind, key, value)
  }

  /// Notes a put when a part is due. Key and value are set aside first: appending a part may wait for a checkpoint, and
  /// what was borrowed from a page may be gone by then.
  @inline(never) private func putBehindPart(
    _ tree: TreeID, _ kind: KeyKind, _ key: SearchKey, _ value: UnsafeRawBufferPointer
  ) -> Copy {
    // The record has been given up, and what is not in a page stays as it is while the tree is changed.
    if isGivenUp, let loanCount, loanCount.pointee == 0 { return Copy(key: key, value: value) }
    let byteCount = 1 + 3 * Varint.maximumByteCount + key.count + value.count
    guard !isGivenUp, bodyByteCount > 0 else {
      overflow(byteCount)
      makeRoom(byteCount)
      return encodePut(tree, kind, key, value)
    }
    let aside = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count + value.count, alignment: 16)
    defer { aside.deallocate() }
    let asideKey = UnsafeMutableRawBufferPointer(rebasing: aside[..<key.count])
    let asideValue = UnsafeMutableRawBufferPointer(rebasing: aside[key.count...])
    asideKey.copyMemory(from: UnsafeRawBufferPointer(start: key.base, count: key.count))
    asideValue.copyMemory(from: value)
    overflow(byteCount)
    makeRoom(byteCount)
    let kept = kind == .int64 ? key : SearchKey(UnsafeRawBufferPointer(asideKey))
    return encodePut(tree, kind, kept, UnsafeRawBufferPointer(asideValue))
  }

  @inline(__always) private func encodePut(
    _ tree: TreeID, _ kind: KeyKind, _ key: SearchKey, _ value: UnsafeRawBufferPointer
  ) -> Copy {
    // An empty buffer may have no address; nothing is read through this one.
    let valueBase = value.baseAddress ?? UnsafeRawPointer(memory)
    if kind == .int64 {
      appendByte(LogOperation.Code.putInteger.rawValue)
      appendVarint(tree.rawValue)
      appendVarint(LogOperation.zigzag(KeyOrder.key(key.integer)))
      return Copy(key: key, value: copied(appendBytes(valueBase, value.count), value.count))
    }
    appendByte(LogOperation.Code.put.rawValue)
    appendVarint(tree.rawValue)
    let keyOffset = appendBytes(key.base, key.count)
    let valueOffset = appendBytes(valueBase, value.count)
    return Copy(key: SearchKey(copied(keyOffset, key.count)), value: copied(valueOffset, value.count))
  }

  /// Notes the put of a value that stands in an extent already; returns the key to work with.
  ///
  /// The value is longer than most parts, and makes a longer one. It is copied once, into the record, and not at all if
  /// that has no room for it. So it is not set aside while a part is appended: it lies in the caller's memory, or in a
  /// page from which it is on loan, which keeps it.
  func putLong(
    _ tree: TreeID, _ kind: KeyKind, _ key: SearchKey, _ value: UnsafeRawBufferPointer
  ) -> SearchKey {
    let byteCount = 1 + 3 * Varint.maximumByteCount + key.count + value.count
    if isFull(for: byteCount), bodyByteCount > 0, !isGivenUp { overflow(byteCount) }
    guard !isGivenUp, position + byteCount <= Limits.recordBodyByteCount else {
      giveUp()
      // Of a record that was given up nobody asks which operation it holds, so this is but a copy of the key.
      return delete(tree, kind, key)
    }
    makeRoom(byteCount)
    return encodePut(tree, kind, key, value).key
  }

  /// Notes a delete; returns the key to work with.
  package func delete(_ tree: TreeID, _ kind: KeyKind, _ key: SearchKey) -> SearchKey {
    let byteCount = 1 &+ 2 &* Varint.maximumByteCount &+ key.count
    if isFull(for: byteCount) { return deleteBehindPart(tree, kind, key) }
    makeRoom(byteCount)
    return encodeDelete(tree, kind, key)
  }

  /// Like `putBehindPart`.
  @inline(never) private func deleteBehindPart(_ tree: TreeID, _ kind: KeyKind, _ key: SearchKey) -> SearchKey {
    let aside = [UInt8](UnsafeRawBufferPointer(start: key.base, count: key.count))
    let byteCount = 1 + 2 * Varint.maximumByteCount + key.count
    overflow(byteCount)
    makeRoom(byteCount)
    return aside.withUnsafeBytes { encodeDelete(tree, kind, kind == .int64 ? key : SearchKey($0)) }
  }

  @inline(__always) private func encodeDelete(_ tree: TreeID, _ kind: KeyKind, _ key: SearchKey) -> SearchKey {
    if kind == .int64 {
      appendByte(LogOperation.Code.deleteInteger.rawValue)
      appendVarint(tree.rawValue)
      appendVarint(LogOperation.zigzag(KeyOrder.key(key.integer)))
      return key
    }
    appendByte(LogOperation.Code.delete.rawValue)
    appendVarint(tree.rawValue)
    return SearchKey(copied(appendBytes(key.base, key.count), key.count))
  }

  /// Notes the creation of a tree.
  package func createTree(_ tree: TreeID, _ kind: KeyKind, name: String) {
    var name = name
    name.withUTF8 { utf8 in
      reserve(2 + 3 * Varint.maximumByteCount + utf8.count)
      appendByte(LogOperation.Code.createTree.rawValue)
      appendVarint(tree.rawValue)
      appendVarint(UInt64(kind.rawValue))
      let bytes = UnsafeRawBufferPointer(utf8)
      _ = appendBytes(bytes.baseAddress ?? UnsafeRawPointer(memory), bytes.count)
    }
  }

  /// Notes that a tree is gone.
  package func dropTree(_ tree: TreeID) {
    reserve(1 + Varint.maximumByteCount)
    appendByte(LogOperation.Code.dropTree.rawValue)
    appendVarint(tree.rawValue)
  }

  /// Notes the next row id.
  package func nextRowID(_ rowID: Int64) {
    reserve(1 + Varint.maximumByteCount)
    appendByte(LogOperation.Code.nextRowID.rawValue)
    appendVarint(LogOperation.zigzag(rowID))
  }

  /// Adds operations as another record holds them.
  func append(operations: UnsafeRawBufferPointer) {
    guard let base = operations.baseAddress else { return }
    assert(operations.count <= Limits.recordBodyByteCount, "operations are longer than a record")
    reserve(operations.count)
    cursor.copyMemory(from: base, byteCount: operations.count)
    bodyByteCount += operations.count
  }

  /// Completes the record: header in front, padding and checksum behind. Returns all its bytes.
  package func seal(_ header: LogRecordHeader, seed: UInt64) -> UnsafeRawBufferPointer {
    assert(!isGivenUp, "a record that was given up is not complete")
    assert(header.bodyByteCount == bodyByteCount, "a header tells another length")
    assert((partCount == 0) == (streamedByteCount == 0), "parts have bytes, and no others have")
    makeRoom(0)
    let padded = LogLayout.align(bodyByteCount, to: 8)
    let body = memory + LogLayout.headerByteCount
    // A whole word, and no call to fill less: what it covers too much is the trailer's.
    (body + bodyByteCount).storeBytes(of: 0, as: UInt64.self)
    let headerChecksum = header.encode(to: memory, seed: seed)
    let checksum = LogRecordHeader.recordChecksum(
      body: UnsafeRawPointer(body), paddedByteCount: padded, headerChecksum: headerChecksum)
    (body + padded).storeBytes(of: checksum, as: UInt64.self)
    return UnsafeRawBufferPointer(start: memory, count: LogLayout.headerByteCount + padded + 8)
  }

  /// The checksum of a sealed record, which is its successor's chain.
  package static func chain(ofSealed record: UnsafeRawBufferPointer) -> UInt64 {
    record.loadUnaligned(fromByteOffset: record.count - 8, as: UInt64.self)
  }
}
