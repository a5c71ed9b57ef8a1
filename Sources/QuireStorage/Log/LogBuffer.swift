// The log record of a transaction while it grows.

/// Operations of one transaction, encoded as they happen, with room in front for the record's header.
///
/// Keys and values are copied in before a tree is touched, so that a caller may put a value that it has just borrowed
/// from a page: the tree is then changed from the copy.
package final class LogBuffer {
  @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  /// Bytes of operations so far.
  @exclusivity(unchecked) package private(set) var bodyByteCount = 0
  /// Whether the record has become too long: the transaction commits by checkpoint, and the buffer holds no more than
  /// the operation at hand.
  @exclusivity(unchecked) package private(set) var isGivenUp = false

  private static let initialCapacity = 64 << 10
  /// What a buffer keeps between transactions; a larger one is given back.
  private static let keptCapacity = 4 << 20

  /// An empty record with room for small transactions.
  package init() {
    capacity = Self.initialCapacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Starts a new record.
  package func reset() {
    isGivenUp = false
    empty()
  }

  private func empty() {
    bodyByteCount = 0
    guard capacity > Self.keptCapacity else { return }
    memory.deallocate()
    capacity = Self.initialCapacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  /// Takes back everything behind `byteCount`. A record that was given up stays so.
  package func truncate(to byteCount: Int) { if !isGivenUp { bodyByteCount = byteCount } }

  /// Where the next operation goes; valid after `reserve`.
  @inline(__always) private var cursor: UnsafeMutableRawPointer {
    memory + LogLayout.headerByteCount + bodyByteCount
  }

  /// Makes room for an operation. One that the longest record has no room for makes it be given up.
  @inline(__always) private func reserve(_ byteCount: Int) {
    if bodyByteCount &+ byteCount > Limits.recordBodyByteCount || isGivenUp { giveUp() }
    makeRoom(byteCount)
  }

  @inline(never) private func giveUp() {
    isGivenUp = true
    empty()
  }

  @inline(__always) private func makeRoom(_ byteCount: Int) {
    // Behind the body there is always room for padding and trailer.
    let needed = LogLayout.headerByteCount + bodyByteCount + byteCount + 8 + LogLayout.trailerByteCount
    if needed > capacity { grow(to: needed) }
  }

  @inline(never) private func grow(to needed: Int) {
    let newCapacity = max(needed, capacity * 2)
    let newMemory = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    newMemory.copyMemory(from: memory, byteCount: LogLayout.headerByteCount + bodyByteCount)
    memory.deallocate()
    memory = newMemory
    capacity = newCapacity
  }

  @inline(__always) private func appendByte(_ byte: UInt8) {
    cursor.storeBytes(of: byte, as: UInt8.self)
    bodyByteCount &+= 1
  }

  @inline(__always) private func appendVarint(_ value: UInt64) {
    bodyByteCount &+= Varint.write(value, to: cursor)
  }

  @inline(__always) private func appendBytes(_ base: UnsafeRawPointer, _ count: Int) -> Int {
    appendVarint(UInt64(count))
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

  @inline(__always) private func copied(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + LogLayout.headerByteCount + offset, count: count)
  }

  /// Notes a put; returns the copies to work with.
  @inline(__always) package func put(
    _ tree: TreeID, _ kind: KeyKind, _ key: SearchKey, _ value: UnsafeRawBufferPointer
  ) -> Copy {
    reserve(1 + 3 * Varint.maximumByteCount + key.count + value.count)
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

  /// Notes the put of a value that stands in an extent already; returns the key to work with. A value that the record
  /// has no room for is not copied: there is never a second copy of a very long one.
  func putLong(
    _ tree: TreeID, _ kind: KeyKind, _ key: SearchKey, _ value: UnsafeRawBufferPointer
  ) -> SearchKey {
    let byteCount = 1 + 3 * Varint.maximumByteCount + key.count + value.count
    if !isGivenUp, bodyByteCount + byteCount <= Limits.recordBodyByteCount { return put(tree, kind, key, value).key }
    giveUp()
    // Of a record that was given up nobody asks which operation it holds, so this is but a copy of the key.
    return delete(tree, kind, key)
  }

  /// Notes a delete; returns the key to work with.
  package func delete(_ tree: TreeID, _ kind: KeyKind, _ key: SearchKey) -> SearchKey {
    reserve(1 + 2 * Varint.maximumByteCount + key.count)
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

  /// Completes the record: header in front, padding and checksum behind. Returns all its bytes.
  package func seal(_ header: LogRecordHeader, seed: UInt64) -> UnsafeRawBufferPointer {
    makeRoom(0)
    let padded = LogLayout.align(bodyByteCount, to: 8)
    let body = memory + LogLayout.headerByteCount
    if padded > bodyByteCount {
      (body + bodyByteCount).initializeMemory(as: UInt8.self, repeating: 0, count: padded - bodyByteCount)
    }
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
