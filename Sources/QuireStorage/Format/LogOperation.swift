// The operations in the body of a log record. They are logical: what was asked for, not which bytes of pages changed.
//
//   1 put          tree, key length, key, value length, value
//   2 delete       tree, key length, key
//   3 put int      tree, key (zigzag), value length, value
//   4 delete int   tree, key (zigzag)
//   5 create tree  tree, kind of keys, name length, name
//   6 drop tree    tree
//   7 row ids      next row id (zigzag)
//   8 delete range      tree, bounds, lower key length, lower key, upper key length, upper key
//   9 delete int range  tree, bounds, lower key (zigzag), upper key (zigzag)
//
// Bounds says which of the two keys follow: bit 0 the lower one, which goes itself, bit 1 the upper one, which stays. A
// bound of bytes may be one byte longer than a key: it then stands behind a key of full length.
//
// Each starts with its number in one byte; all integers are varints.

/// One operation of a log record; bytes are borrowed from the record.
package enum LogOperation {
  case put(TreeID, SearchKeyBytes, value: UnsafeRawBufferPointer)
  case delete(TreeID, SearchKeyBytes)
  case createTree(TreeID, KeyKind, name: UnsafeRawBufferPointer)
  case dropTree(TreeID)
  case nextRowID(Int64)
  /// Every entry from the first key on and below the second; nil leaves an end open.
  case deleteRange(TreeID, from: SearchKeyBytes?, to: SearchKeyBytes?)

  /// A key as it stands in the log.
  package enum SearchKeyBytes {
    case bytes(UnsafeRawBufferPointer)
    case int64(Int64)
  }

  /// The numbers of the operations on disk; never changed.
  package enum Code: UInt8 {
    case put = 1
    case delete = 2
    case putInteger = 3
    case deleteInteger = 4
    case createTree = 5
    case dropTree = 6
    case nextRowID = 7
    case deleteRange = 8
    case deleteIntegerRange = 9
  }

  /// Maps small magnitudes of either sign to small numbers.
  @inline(__always) package static func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: (value &<< 1) ^ (value &>> 63))
  }

  /// The inverse of `zigzag`.
  @inline(__always) package static func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value &>> 1) ^ -Int64(bitPattern: value & 1)
  }
}

/// Reads operations one after the other. Never traps: a body that breaks the format ends with `isDamaged`.
package struct LogOperationReader {
  private let body: UnsafeRawBufferPointer
  private var offset = 0
  /// Whether the body broke the format at some point.
  package private(set) var isDamaged = false

  /// Reads from the start of `body`, which must outlive the reader and every operation it returns.
  package init(_ body: UnsafeRawBufferPointer) { self.body = body }

  /// The next operation; nil at the end, or where the body breaks the format.
  package mutating func next() -> LogOperation? {
    guard !isDamaged, offset < body.count else { return nil }
    if let operation = decode() { return operation }
    isDamaged = true
    return nil
  }

  private mutating func decode() -> LogOperation? {
    let code = LogOperation.Code(rawValue: body[offset])
    offset += 1
    guard let code else { return nil }
    if code == .nextRowID { return varint().map { .nextRowID(LogOperation.unzigzag($0)) } }
    guard let tree = varint().map(TreeID.init) else { return nil }
    switch code {
    case .put:
      guard let key = bytes(limit: Limits.keyByteCount), let value = bytes(limit: body.count) else { return nil }
      return .put(tree, .bytes(key), value: value)
    case .delete:
      guard let key = bytes(limit: Limits.keyByteCount) else { return nil }
      return .delete(tree, .bytes(key))
    case .putInteger:
      guard let key = varint(), let value = bytes(limit: body.count) else { return nil }
      return .put(tree, .int64(LogOperation.unzigzag(key)), value: value)
    case .deleteInteger:
      guard let key = varint() else { return nil }
      return .delete(tree, .int64(LogOperation.unzigzag(key)))
    case .createTree:
      guard let kind = varint().flatMap({ UInt8(exactly: $0) }).flatMap(KeyKind.init),
        let name = bytes(limit: Limits.treeNameByteCount)
      else { return nil }
      return .createTree(tree, kind, name: name)
    case .dropTree:
      return .dropTree(tree)
    case .deleteRange, .deleteIntegerRange:
      return range(of: tree, hasIntegerKeys: code == .deleteIntegerRange)
    case .nextRowID:
      return nil
    }
  }

  private mutating func range(of tree: TreeID, hasIntegerKeys: Bool) -> LogOperation? {
    guard let bounds = varint(), bounds <= 3 else { return nil }
    var keys: [LogOperation.SearchKeyBytes?] = [nil, nil]
    for end in 0..<2 where bounds & (1 << UInt64(end)) != 0 {
      if hasIntegerKeys {
        keys[end] = varint().map { .int64(LogOperation.unzigzag($0)) }
      } else {
        keys[end] = bytes(limit: Limits.keyByteCount + 1).map { .bytes($0) }
      }
      guard keys[end] != nil else { return nil }
    }
    return .deleteRange(tree, from: keys[0], to: keys[1])
  }

  private mutating func varint() -> UInt64? { Varint.read(body, at: &offset) }

  private mutating func bytes(limit: Int) -> UnsafeRawBufferPointer? {
    guard let count = varint(), count <= UInt64(limit), Int(count) <= body.count - offset else { return nil }
    defer { offset += Int(count) }
    return UnsafeRawBufferPointer(rebasing: body[offset..<(offset + Int(count))])
  }
}
